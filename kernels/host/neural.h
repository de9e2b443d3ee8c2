// A training step's operations on the CPU, in fp32: products by OpenBLAS, the rest by the team's threads, row by row.
#pragma once

#include <memory>
#include <vector>

#include "kernels/device.h"
#include "kernels/host/team.h"

namespace claimcheck::kernels::host {

std::unique_ptr<Neural> make_neural(std::shared_ptr<Team> team, std::vector<int> cores, std::vector<int> all_cpus);

}  // namespace claimcheck::kernels::host
