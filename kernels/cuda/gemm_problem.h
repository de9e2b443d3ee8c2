// One product as cuBLASLt is asked for it: types, layouts, scale factors; what can do it, and doing it.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/error.h"
#include "kernels/cuda/gemm_rules.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

// Device memory for products' own use; a Buffer is for what benchmarks see.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::size_t bytes) {
    if (bytes > 0) check(cudaMalloc(&address_, bytes));
  }
  Scratch(Scratch&& other) noexcept : address_(std::exchange(other.address_, nullptr)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(address_, other.address_);
    return *this;
  }
  ~Scratch() {
    if (address_ != nullptr && !any_stuck_work()) ignore(cudaFree(address_));
  }
  void* address() const { return address_; }

 private:
  void* address_ = nullptr;
};

// Its destruction may wait for all work on the GPU.
inline cublasStatus_t destroy_library(cublasLtHandle_t handle) {
  return any_stuck_work() ? CUBLAS_STATUS_SUCCESS : cublasLtDestroy(handle);
}

// A cuBLASLt object with its destroying function.
template <class Handle, cublasStatus_t (*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle != nullptr) destroy(handle);
  }
  Handle handle = nullptr;
};

using LibraryHandle = Owned<cublasLtHandle_t, destroy_library>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

// alpha = 1, beta = 0 in the scale type, as bits.
struct Scalars {
  alignas(8) std::array<std::byte, 8> one{};
  alignas(8) std::array<std::byte, 8> zero{};
  template <class Value>
  void set(Value value) {
    std::memcpy(one.data(), &value, sizeof value);
  }
};

// On the current device. Throws unsupported with the reason.
class Problem {
 public:
  Problem(const Gpu& gpu, DataType type, const GemmShape& shape);

  const GemmTypes& types() const { return types_; }
  std::size_t a_bytes() const;
  std::size_t b_bytes() const;
  std::size_t c_bytes() const;

  // The library's suggestions, the most promising first; none when it cannot do this product.
  std::vector<cublasLtMatmulHeuristicResult_t> candidates(std::size_t workspace_bytes, int most) const;

  cublasStatus_t enqueue(const cublasLtMatmulAlgo_t& algorithm, const void* a, const void* b, void* c, void* workspace,
                         std::size_t workspace_bytes, cudaStream_t stream) const;

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value);
  void scale_tensors(const Gpu& gpu);
  void scale_blocks(const Gpu& gpu);

  GemmTypes types_;
  GemmShape shape_;
  DataType type_;
  LibraryHandle library_;
  Description description_;
  Layout a_;
  Layout b_;
  Layout c_;
  Scalars scalars_;
  Scratch scales_a_;
  Scratch scales_b_;
};

}  // namespace claimcheck::kernels::cuda
