// Carries the states of one device to a file and back: by way of pinned host memory, copies and writes overlapping, or
// without it (GPUDirect Storage).
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/block_queue.h"
#include "bench/published_file.h"
#include "kernels/device.h"

namespace claimcheck::bench {

enum class Way { pinned_host, direct };

// Blocks that are moved at once, and their size: smaller where the whole is small.
struct Blocks {
  static constexpr std::size_t depth = 8;
  static constexpr std::size_t largest_bytes = std::size_t{8} << 20;
  static constexpr std::size_t granule = 4096;

  explicit Blocks(std::size_t whole_bytes);
  std::size_t bytes_of(std::size_t number) const;  // the last one may be smaller

  std::size_t whole_bytes;
  std::size_t block_bytes;
  std::size_t count;
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  // Between the states and a file of their size. Both return when the bytes are moved, not yet on the disk.
  virtual void save(const PublishedFile& file) = 0;
  virtual void restore(const PublishedFile& file) = 0;
  virtual nlohmann::json conditions() const = 0;
};

// `states` outlives the carrier; its size is a multiple of Blocks::granule.
std::unique_ptr<Carrier> make_carrier(Way way, kernels::Device& device, kernels::Buffer& states,
                                      kernels::Duration deadline);

// Hands every block of the file to `look`, in order, read past the page cache.
void read_back(const PublishedFile& file, kernels::Duration deadline,
               const std::function<void(std::size_t offset, std::span<const std::byte> content)>& look);

}  // namespace claimcheck::bench
