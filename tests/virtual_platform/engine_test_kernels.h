// Small kernels of the engine's tests, compiled as a companion's are.
#pragma once

#include "tests/virtual_platform/emulator/kernel.h"

namespace virtual_platform::test {

extern const CompiledKernel scale_kernel;         // (double* to, const double* from, double factor, long count)
extern const CompiledKernel increment_kernel;     // (double* values, long count): reads what it writes
extern const CompiledKernel reverse_kernel;       // (int* values): one block turns its values round in shared memory
extern const CompiledKernel warp_sum_kernel;      // (const int* values, int* sums): of each warp, by shuffles
extern const CompiledKernel scratch_kernel;       // (int* scratch, const int* from, int* to): through memory of its own
extern const CompiledKernel gather_kernel;        // (int* out): lane i writes what lane 31 - i holds
extern const CompiledKernel half_barrier_kernel;  // (int* out): half of the block waits for the others, who do not come
extern const CompiledKernel by_memory_kernel;     // (int** address): writes where an address in memory points

}  // namespace virtual_platform::test
