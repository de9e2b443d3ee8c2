// What a soak puts on one device: matrix products and passes over memory that give the same bits every time, and the
// comparison of each of their outputs with the first one, on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/product.h"
#include "kernels/device.h"

namespace claimcheck::bench {

struct SoakSizes {
  kernels::DataType type = kernels::DataType::fp32;
  std::int64_t n = 0;           // side of the square matrices
  std::size_t outputs = 1;      // products of one round, each kept apart
  std::size_t array_bytes = 0;  // of each of the three arrays of a pass
  std::size_t passes = 1;       // over memory in one round
};

// What differed from the first output. `words` are of 8 bytes.
struct Corruption {
  std::string operation;  // "matrix product", "memory pass"
  std::size_t output = 0;
  std::size_t words = 0;
  std::size_t first_word = 0;
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

// Seconds of one round, by the device's clock.
struct RoundSeconds {
  double gemm = 0;
  double memory = 0;
};

class SoakLoad {
 public:
  // Makes the buffers and the first outputs, which all later ones are held against; waits for them.
  SoakLoad(kernels::Device& device, const SoakSizes& sizes, std::uint64_t seed, kernels::Duration deadline);

  // All products, all passes, then the comparisons. Enqueued only.
  void enqueue();
  // After enqueue(): waits, and says what differs; empty when nothing does.
  std::vector<Corruption> wait();
  RoundSeconds seconds() const;  // of the last round

  // The first outputs against an independent reference; throws wrong_result.
  void verify(ProductReference& reference);
  ProductReference reference(std::uint64_t seed);  // of this product, the same on every device
  void spoil();

  kernels::Device& device() { return device_; }
  kernels::Stream& stream() { return *stream_; }
  double flop() const;             // of one round
  double bytes() const;            // moved by the passes of one round
  std::size_t held_bytes() const;  // memory that takes part
  kernels::Facts facts() const { return gemm_->facts(); }
  std::string_view output_type() const { return to_string(gemm_->output_type()); }

 private:
  Corruption locate(const char* operation, std::size_t output, kernels::Buffer& found, kernels::Buffer& first,
                    double words);
  Product product();

  kernels::Device& device_;
  SoakSizes sizes_;
  kernels::Duration deadline_;
  std::unique_ptr<kernels::Gemm> gemm_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<kernels::Timer> gemm_timer_;
  std::unique_ptr<kernels::Timer> memory_timer_;
  std::unique_ptr<kernels::Buffer> a_;
  std::unique_ptr<kernels::Buffer> b_;
  std::unique_ptr<kernels::Buffer> first_product_;
  std::vector<std::unique_ptr<kernels::Buffer>> products_;
  std::unique_ptr<kernels::Buffer> x_;
  std::unique_ptr<kernels::Buffer> y_;
  std::unique_ptr<kernels::Buffer> first_pass_;
  std::unique_ptr<kernels::Buffer> pass_;
  std::unique_ptr<kernels::Buffer> counts_;  // of differing words: of each product, then of the passes
};

// As large as the device and the limits allow: the first of bf16, fp16 and fp32 that it multiplies; products until they
// fill half of the memory or a round takes a quarter of a second. The same on every device.
SoakSizes soak_sizes(kernels::Device& device, std::size_t limit_bytes, std::int64_t max_gemm, bool gpu,
                     kernels::Duration deadline);

}  // namespace claimcheck::bench
