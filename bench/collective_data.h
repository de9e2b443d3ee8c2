// What a collective moves and from where: sizes and bus bandwidth as nccl-tests defines them (its doc/PERFORMANCE.md),
// where each element of a result comes from, and the inputs it is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

inline constexpr kernels::DataType collective_type = kernels::DataType::fp32;
inline constexpr std::size_t element_bytes = 4;

// Seconds on the bus per byte of the size S that is quoted, for n ranks: busbw = S / t x factor.
double bus_factor(kernels::Collective collective, double n);

// S is the whole of what one rank sends or receives, whichever is more. Elements of both buffers, and the count that
// Group::enqueue wants; S is rounded so that every rank has the same share.
struct Extent {
  std::size_t count = 0;
  std::size_t send = 0;
  std::size_t receive = 0;

  Extent(kernels::Collective collective, std::size_t size_bytes, std::size_t ranks);
  double size_bytes() const { return static_cast<double>(std::max(send, receive) * element_bytes); }
};

// A stretch of one rank's output, and where the elements that make it lie in the inputs of others.
struct Stretch {
  std::size_t first = 0;  // in the output
  std::size_t length = 0;
  std::vector<std::pair<std::size_t, std::size_t>> sources;  // rank, first element of its input; summed
};

std::vector<Stretch> stretches(kernels::Collective collective, std::size_t rank, std::size_t ranks, std::size_t count);

// The inputs of all ranks, also those of other processes, made again from their seeds on one local device. They are
// filled piece by piece, so that the reference needs little memory.
class Inputs {
 public:
  static constexpr std::size_t piece = std::size_t{1} << 16;  // stays in the host's cache

  explicit Inputs(std::uint64_t seed) : seed_(seed) {}

  void fill(kernels::Device& device, kernels::Stream& stream, kernels::Buffer& buffer, std::size_t rank,
            std::size_t elements) const;

  // Elements first to first + length of a rank's input of `elements` elements.
  std::vector<double> read(kernels::Device& device, kernels::Stream& stream, std::size_t rank, std::size_t first,
                           std::size_t length, std::size_t elements);

 private:
  struct Kept {
    std::size_t rank = 0;
    std::size_t number = 0;
    std::vector<double> values;
  };

  std::uint64_t seed_of(std::size_t rank, std::size_t number) const { return seed_ + (rank << 32) + number; }
  const std::vector<double>& piece_of(kernels::Device& device, kernels::Stream& stream, std::size_t rank,
                                      std::size_t number, std::size_t elements);

  std::uint64_t seed_;
  std::unique_ptr<kernels::Buffer> scratch_;
  std::vector<Kept> kept_;
};

}  // namespace claimcheck::bench
