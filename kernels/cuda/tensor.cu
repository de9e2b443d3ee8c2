#include "kernels/cuda/error.h"
#include "kernels/cuda/launches.h"
#include "kernels/cuda/tensor.cuh"

namespace claimcheck::kernels::cuda {

namespace {

// One block per SM, placed on all of them alike.
template <MatrixInstruction instruction>
void launch_instruction(const Launch& launch, const void* a, const void* b, void* c, std::int64_t steps) {
  multiply_tiles<instruction>
      <<<static_cast<unsigned>(launch.multiprocessors), tensor_threads, 0, launch.stream>>>(a, b, c, steps);
}

}  // namespace

std::int64_t tensor_tiles(int multiprocessors) { return std::int64_t{multiprocessors} * (tensor_threads / 32); }

GemmShape tensor_tile(MatrixInstruction instruction) {
  const MatrixInstructionFacts facts = facts_of(instruction);
  return {facts.m, 8 * products_of(instruction), facts.k};
}

void launch_tensor(const Launch& launch, MatrixInstruction instruction, const void* a, const void* b, void* c,
                   std::int64_t steps) {
  using enum MatrixInstruction;
  switch (instruction) {
    case fp16_m16n8k8:
      launch_instruction<fp16_m16n8k8>(launch, a, b, c, steps);
      break;
    case fp16_m16n8k16:
      launch_instruction<fp16_m16n8k16>(launch, a, b, c, steps);
      break;
    case bf16_m16n8k16:
      launch_instruction<bf16_m16n8k16>(launch, a, b, c, steps);
      break;
    case tf32_m16n8k8:
      launch_instruction<tf32_m16n8k8>(launch, a, b, c, steps);
      break;
    case int8_m8n8k16:
      launch_instruction<int8_m8n8k16>(launch, a, b, c, steps);
      break;
    case int8_m16n8k32:
      launch_instruction<int8_m16n8k32>(launch, a, b, c, steps);
      break;
    case e4m3_m16n8k32:
      launch_instruction<e4m3_m16n8k32>(launch, a, b, c, steps);
      break;
    case e5m2_m16n8k32:
      launch_instruction<e5m2_m16n8k32>(launch, a, b, c, steps);
      break;
    case fp64_m8n8k4:
      launch_instruction<fp64_m8n8k4>(launch, a, b, c, steps);
      break;
    case fp64_m16n8k16:
      launch_instruction<fp64_m16n8k16>(launch, a, b, c, steps);
      break;
  }
  check(cudaGetLastError());
}

}  // namespace claimcheck::kernels::cuda
