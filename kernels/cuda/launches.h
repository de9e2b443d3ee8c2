// Launches of the kernels in the .cuh files. Everything is enqueued on the launch's stream and returns at once;
// arguments are checked by the caller. Each function throws Error when the launch itself fails.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/matrix_instructions.h"
#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

// Where: the stream's GPU is the current one.
struct Launch {
  cudaStream_t stream = nullptr;
  int multiprocessors = 0;
};

// The compute capability the code that runs on a GPU was compiled for: the last one in this build that is not above the
// GPU's own. Instructions younger than it are missing from the code even where the GPU has them.
int compiled_capability(int gpu_capability);

void launch_fill(const Launch& launch, void* target, std::size_t elements, DataType type, std::uint64_t seed);

// All but read; sizes are multiples of 16.
void launch_memory(const Launch& launch, MemoryKernel kernel, const void* a, const void* b, void* c, double scalar,
                   std::size_t bytes);

// What launch_sum() needs beside its arrays: zeroed once, used by one launch at a time.
std::size_t sum_scratch_bytes();
void launch_sum(const Launch& launch, const void* array, std::size_t bytes, void* scratch, void* result);

// With the same scratch.
void launch_compare(const Launch& launch, const void* a, const void* b, std::size_t bytes, void* scratch, void* count);

void launch_copy(const Launch& launch, void* target, const void* source, std::size_t bytes);

void launch_chase(const Launch& launch, const void* list, std::int64_t loads, void* last);

void launch_nothing(const Launch& launch);

int vector_chain_count();
int vector_capability(VectorOp op);  // the first with its instruction
std::int64_t vector_lanes(VectorOp op, int multiprocessors);
void launch_vector(const Launch& launch, VectorOp op, const void* input, void* output, std::int64_t steps);

std::int64_t tensor_tiles(int multiprocessors);
GemmShape tensor_tile(MatrixInstruction instruction);
void launch_tensor(const Launch& launch, MatrixInstruction instruction, const void* a, const void* b, void* c,
                   std::int64_t steps);

}  // namespace claimcheck::kernels::cuda
