// Collectives between cores: of one process, of the processes of one node, of several nodes.
#pragma once

#include <memory>
#include <span>

#include "kernels/device.h"

namespace claimcheck::kernels::host {

// Called by all processes of the world at once.
std::unique_ptr<Group> make_group(std::span<Device* const> local, World& world);

}  // namespace claimcheck::kernels::host
