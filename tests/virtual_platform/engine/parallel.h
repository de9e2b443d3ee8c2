// Work shared out to all cores: effects of large operations.
#pragma once

#include <cstddef>
#include <functional>

namespace virtual_platform {

// Calls work(0) ... work(count - 1), several at a time, on this thread and helpers; returns when all are done. A call
// from inside runs on its own thread. The order is not fixed.
void parallel(std::size_t count, const std::function<void(std::size_t)>& work);
int parallel_threads();

// Cuts `size` into pieces of `piece` and calls work(from, count) for each.
void parallel_pieces(std::size_t size, std::size_t piece, const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace virtual_platform
