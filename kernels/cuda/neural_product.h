// Products of row-major matrices with cuBLASLt, for training steps: any transposition, strides, batches, accumulation.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "kernels/cuda/device.h"
#include "kernels/cuda/gemm_problem.h"

namespace claimcheck::kernels::cuda {

// Remembers how each product is done: a step asks for the same ones again and again. One stream at a time uses it.
class RowMajorProducts {
 public:
  // `type`: bf16 or fp32 (of all three matrices), sums in fp32. Of the device that is current.
  RowMajorProducts(DataType type, std::size_t workspace_bytes);
  ~RowMajorProducts();

  // Throws unsupported where the library has no way to do it.
  void enqueue(cudaStream_t stream, const Product& product, const void* a, const void* b, void* c);

 private:
  struct Plan;
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  static Key key_of(const Product& product);
  std::unique_ptr<Plan> make_plan(const Product& product);

  DataType type_;
  std::size_t workspace_bytes_;
  LibraryHandle library_;
  Scratch workspace_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace claimcheck::kernels::cuda
