// Collectives between ranks of one process, through the memory they share.
#pragma once

#include <memory>
#include <span>

#include "kernels/device.h"

namespace claimcheck::kernels::host {

std::unique_ptr<Group> make_shared_memory_group(std::span<Device* const> local, World& world);

}  // namespace claimcheck::kernels::host
