// What the processes of one node use side by side: what their launcher divided stays as it is, what all of them see is
// dealt out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::kernels {

enum class Sight {
  alone,  // one process on this node
  apart,  // no two processes see the same thing
  same,   // all see the same things
  mixed   // anything else
};

// Compares the names of what each process of this node sees: CPUs, UUIDs of GPUs. One gather() of the world, whatever
// is seen.
Sight compare_sights(World& world, const std::vector<std::string>& mine);

// First and count of the things of `count` that belong to one process of `processes`; the shares differ by one at most.
std::pair<int, int> dealt_out(int count, int process, int processes);

}  // namespace claimcheck::kernels
