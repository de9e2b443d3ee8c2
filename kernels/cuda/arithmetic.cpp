#include "kernels/cuda/arithmetic.h"

#include <fmt/format.h>

#include "kernels/cuda/buffer.h"
#include "kernels/cuda/launches.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

namespace {

std::string text_of(int capability) { return fmt::format("{}.{}", capability / 10, capability % 10); }

// `what` cannot run: the GPU is too old, or this build has code for older ones only.
Error lacks(const Gpu& gpu, const std::string& what, int capability) {
  if (gpu.capability < capability)
    return unsupported(fmt::format("{} needs compute capability {}; this GPU has {}", what, text_of(capability),
                                   text_of(gpu.capability)));
  return unsupported(
      fmt::format("{} needs code for compute capability {}; of this build the code for {} runs on this GPU ({})", what,
                  text_of(capability), text_of(compiled_capability(gpu.capability)), text_of(gpu.capability)),
      fmt::format("build with CMAKE_CUDA_ARCHITECTURES={}", gpu.capability));
}

void expect_bytes(const Slice& slice, std::size_t bytes, const char* what) {
  if (slice.size_bytes != bytes)
    throw mistake(fmt::format("{} has {} bytes; expected {}", what, slice.size_bytes, bytes));
}

void expect_steps(std::int64_t steps) {
  if (steps < 0) throw mistake(fmt::format("{} steps were asked for; expected 0 or more", steps));
}

class CudaVectorChains final : public VectorChains {
 public:
  CudaVectorChains(const Gpu& gpu, VectorOp op)
      : ordinal_(gpu.ordinal), multiprocessors_(gpu.facts.compute_units), op_(op) {}

  void enqueue(Stream& stream, Slice input, Slice output, std::int64_t steps) override {
    const std::size_t bytes = static_cast<std::size_t>(lanes()) * value_bytes();
    expect_bytes(input, bytes, "the input of vector chains");
    expect_bytes(output, bytes, "the output of vector chains");
    expect_steps(steps);
    const Current current(ordinal_);
    launch_vector({cuda(stream).handle(), multiprocessors_}, op_, address_of(input, "the input of vector chains"),
                  address_of(output, "the output of vector chains"), steps);
  }
  std::int64_t lanes() const override { return vector_lanes(op_, multiprocessors_); }
  int chains() const override { return vector_chain_count(); }
  int operations() const override { return op_ == VectorOp::dp4a ? 8 : 2; }

 private:
  std::size_t value_bytes() const {
    if (op_ == VectorOp::fp64) return 8;
    return op_ == VectorOp::fp16 || op_ == VectorOp::bf16 ? 2 : 4;
  }

  int ordinal_;
  int multiprocessors_;
  VectorOp op_;
};

class CudaTensorTiles final : public TensorTiles {
 public:
  CudaTensorTiles(const Gpu& gpu, MatrixInstruction instruction)
      : ordinal_(gpu.ordinal),
        multiprocessors_(gpu.facts.compute_units),
        capability_(gpu.capability),
        instruction_(instruction) {}

  void enqueue(Stream& stream, Slice a, Slice b, Slice c, std::int64_t steps) override {
    const MatrixInstructionFacts about = facts_of(instruction_);
    const GemmShape shape = tile();
    expect_bytes(a, bytes_of(about.input, shape.m * shape.k), "operand A of tiles");
    expect_bytes(b, bytes_of(about.input, shape.n * shape.k), "operand B of tiles");
    expect_bytes(c, bytes_of(about.output, shape.m * shape.n), "result C of tiles");
    expect_steps(steps);
    const Current current(ordinal_);
    launch_tensor({cuda(stream).handle(), multiprocessors_}, instruction_, address_of(a, "operand A of tiles"),
                  address_of(b, "operand B of tiles"), address_of(c, "result C of tiles"), steps);
  }
  std::int64_t tiles() const override { return tensor_tiles(multiprocessors_); }
  GemmShape tile() const override { return tensor_tile(instruction_); }
  DataType output_type() const override { return facts_of(instruction_).output; }
  // full_rate: whether these instructions can reach the peak of the matrix units of this GPU.
  Facts facts() const override {
    return {{"instruction", std::string(facts_of(instruction_).name)}, {"full_rate", has_full_rate(capability_)}};
  }

 private:
  std::size_t bytes_of(DataType type, std::int64_t values_of_tile) const {
    return storage_bytes(type, static_cast<std::size_t>(tiles() * values_of_tile));
  }

  int ordinal_;
  int multiprocessors_;
  int capability_;
  MatrixInstruction instruction_;
};

}  // namespace

std::unique_ptr<VectorChains> make_vector(const Gpu& gpu, VectorOp op) {
  if (compiled_capability(gpu.capability) < vector_capability(op))
    throw lacks(gpu, fmt::format("{} arithmetic", to_string(op)), vector_capability(op));
  return std::make_unique<CudaVectorChains>(gpu, op);
}

std::unique_ptr<TensorTiles> make_tensor(const Gpu& gpu, DataType type) {
  const auto instruction = matrix_instruction(type, compiled_capability(gpu.capability));
  if (instruction) return std::make_unique<CudaTensorTiles>(gpu, *instruction);
  if (matrix_capability(type) == 0)
    throw unsupported(fmt::format("the instruction mma.sync has no {} type that this program uses", to_string(type)));
  if (!has_full_rate(gpu.capability))
    throw unsupported(
        fmt::format("on compute capability {} the instruction mma.sync turns {} into fp16, which would "
                    "measure other units; only products by the library reach those of {}",
                    text_of(gpu.capability), to_string(type), to_string(type)));
  throw lacks(gpu, fmt::format("mma.sync of type {}", to_string(type)), matrix_capability(type));
}

}  // namespace claimcheck::kernels::cuda
