// Matrix products with cuBLASLt.
#include <fmt/format.h>

#include "kernels/cuda/gemm_choice.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

namespace {

Fact configuration(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  std::int32_t value = 0;
  std::size_t written = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written);
  return status == CUBLAS_STATUS_SUCCESS ? Fact(static_cast<std::int64_t>(value)) : Fact();
}

class LtGemm final : public Gemm {
 public:
  LtGemm(const Gpu& gpu, DataType type, const GemmShape& shape)
      : ordinal_(gpu.ordinal), type_(type), problem_(gpu, type, shape) {
    choice_ = choose(problem_, gpu, type, shape);
    workspace_ = Scratch(choice_.workspace_bytes);
  }

  void enqueue(Stream& stream, Slice a, Slice b, Slice c) override {
    require(a, problem_.a_bytes());
    require(b, problem_.b_bytes());
    require(c, problem_.c_bytes());
    const Current current(ordinal_);
    check(problem_.enqueue(choice_.algorithm, a.address(), b.address(), c.address(), workspace_.address(),
                           choice_.workspace_bytes, cuda(stream).handle()));
  }

  DataType output_type() const override { return problem_.types().output; }
  std::optional<DataType> other_b_type() const override {
    return type_ == DataType::fp8_e5m2 ? std::optional(DataType::fp8_e4m3) : std::nullopt;
  }

  Facts facts() const override {
    return {{"library", "cuBLASLt"},
            {"version", cublas_version(cublasLtGetVersion())},
            {"algorithm", configuration(choice_.algorithm, CUBLASLT_ALGO_CONFIG_ID)},
            {"tile", configuration(choice_.algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID)},
            {"workspace_bytes", static_cast<std::int64_t>(choice_.workspace_bytes)},
            {"candidates", static_cast<std::int64_t>(choice_.candidates)},
            {"fastest_by_trial", choice_.tried},
            {"waves", choice_.waves}};
  }

 private:
  // The heuristics assume addresses that are multiples of 256, as allocations are.
  static void require(const Slice& slice, std::size_t bytes) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(slice.address()) % 256 == 0;
    if (slice.size_bytes >= bytes && aligned) return;
    throw Error({.outcome = Outcome::failed,
                 .library = "claimcheck",
                 .code = {},
                 .text = fmt::format("a matrix needs {} bytes from a multiple of 256 on; it was given {} bytes at {}",
                                     bytes, slice.size_bytes, fmt::ptr(slice.address())),
                 .remedy = {}});
  }

  int ordinal_;
  DataType type_;
  Problem problem_;
  Choice choice_;
  Scratch workspace_;  // of this product alone: to be used from one stream at a time
};

}  // namespace

std::unique_ptr<Gemm> make_gemm(const Gpu& gpu, DataType type, const GemmShape& shape) {
  const Current current(gpu.ordinal);
  return std::make_unique<LtGemm>(gpu, type, shape);
}

}  // namespace claimcheck::kernels::cuda
