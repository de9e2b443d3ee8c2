#include "kernels/cuda/error.h"
#include "kernels/cuda/launches.h"
#include "kernels/cuda/vector.cuh"

namespace claimcheck::kernels::cuda {

namespace {

// One block per SM, placed on all of them alike.
template <VectorOp op>
void launch_op(const Launch& launch, const void* input, void* output, std::int64_t steps) {
  run_chains<op>
      <<<static_cast<unsigned>(launch.multiprocessors), vector_threads, 0, launch.stream>>>(input, output, steps);
}

}  // namespace

int vector_chain_count() { return vector_chains; }

int vector_capability(VectorOp op) {
  switch (op) {
    case VectorOp::bf16:
      return 80;
    case VectorOp::dp4a:
      return 61;
    case VectorOp::fp16:
      return 53;
    default:
      return 10;
  }
}

std::int64_t vector_lanes(VectorOp op, int multiprocessors) {
  return std::int64_t{multiprocessors} * vector_threads * lanes_of_thread(op);
}

void launch_vector(const Launch& launch, VectorOp op, const void* input, void* output, std::int64_t steps) {
  switch (op) {
    case VectorOp::fp64:
      launch_op<VectorOp::fp64>(launch, input, output, steps);
      break;
    case VectorOp::fp32:
      launch_op<VectorOp::fp32>(launch, input, output, steps);
      break;
    case VectorOp::fp16:
      launch_op<VectorOp::fp16>(launch, input, output, steps);
      break;
    case VectorOp::bf16:
      launch_op<VectorOp::bf16>(launch, input, output, steps);
      break;
    case VectorOp::int32:
      launch_op<VectorOp::int32>(launch, input, output, steps);
      break;
    case VectorOp::dp4a:
      launch_op<VectorOp::dp4a>(launch, input, output, steps);
      break;
  }
  check(cudaGetLastError());
}

}  // namespace claimcheck::kernels::cuda
