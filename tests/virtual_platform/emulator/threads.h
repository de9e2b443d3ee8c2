// What the kernels' code sees of the emulator: the built-in variables, and the operations in which threads meet.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>

#define CLAIMCHECK_THREAD_VARIABLE extern __thread __attribute__((tls_model("initial-exec")))
CLAIMCHECK_THREAD_VARIABLE uint3 threadIdx;
CLAIMCHECK_THREAD_VARIABLE uint3 blockIdx;
CLAIMCHECK_THREAD_VARIABLE uint3 blockDim;
CLAIMCHECK_THREAD_VARIABLE uint3 gridDim;
#undef CLAIMCHECK_THREAD_VARIABLE

namespace virtual_platform {

int lane();  // of the running thread in its warp
void block_barrier();
enum class Vote { count, all, any };
int block_vote(bool mine, Vote vote);
void warp_barrier(std::uint32_t mask);
std::uint32_t active_lanes();  // of the warp, that have not ended

// Where the values of all 32 lanes are until the next exchange, 16 bytes apart, when the whole warp takes part and a
// value has 16 bytes at most; else null, and the next three serve.
const std::byte* warp_exchange(std::uint32_t mask, const void* mine, std::size_t bytes);

// Between these two, every lane of the mask can read what the others offer, where they keep it.
void warp_offer(std::uint32_t mask, const void* mine);
const void* warp_offered(int by_lane);
void warp_withdraw(std::uint32_t mask);

[[noreturn]] void trap(const char* reason);  // ends the grid with an error

}  // namespace virtual_platform
