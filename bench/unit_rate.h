// What the vector and the matrix benchmarks share: kernels that work on registers for a number of steps, and checks of
// a sample of what they leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/lanes.h"

namespace claimcheck::bench {

// Steps that make one launch last wanted_seconds() on the first device, so that starting it is small against it; at
// most `most`.
std::int64_t find_steps(Setting& setting, std::int64_t most,
                        const std::function<void(kernels::Stream& stream, std::int64_t steps)>& enqueue);

// Groups of `size` of `count` items to look at, by their first item: the first, the last and some at random; all where
// that is not more.
std::vector<std::size_t> sampled_groups(std::size_t count, std::size_t size, std::size_t groups, std::uint64_t seed);

}  // namespace claimcheck::bench
