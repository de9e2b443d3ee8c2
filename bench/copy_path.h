// Copies from one place to another, with content that proves that each was done: two sources of random bytes take
// turns, from pass to pass and from iteration to iteration, so that a copy left out leaves the wrong one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

// The two buffers copies are made from, and what they hold. Paths may share them.
class CopySources {
 public:
  // On the device or in host memory near it; filled by the device, read back once.
  CopySources(kernels::Device& device, kernels::Stream& stream, kernels::Placement placement, std::size_t bytes,
              std::uint64_t seed);

  kernels::Buffer& buffer(std::size_t which) const { return *buffers_[which]; }
  std::span<const std::byte> content(std::size_t which) const { return content_[which]; }
  std::size_t bytes() const { return content_[0].size(); }

 private:
  std::array<std::unique_ptr<kernels::Buffer>, 2> buffers_;
  std::array<std::vector<std::byte>, 2> content_;
};

class CopyPath {
 public:
  // The target is made on `owner`.
  CopyPath(kernels::Device& owner, kernels::Stream& stream, kernels::Placement placement,
           std::shared_ptr<const CopySources> sources);
  // With a target made elsewhere, as large as the sources.
  CopyPath(std::unique_ptr<kernels::Buffer> target, std::shared_ptr<const CopySources> sources)
      : sources_(std::move(sources)), target_(std::move(target)) {}

  // `worker` does the copies.
  void enqueue(kernels::Device& worker, kernels::Stream& stream, kernels::CopyEngine engine, int passes);

  // Every byte; `what` starts the sentence. Nothing when no copy was made yet.
  void verify(kernels::Device& owner, kernels::Stream& stream, const std::string& what) const;
  void spoil(kernels::Device& owner, kernels::Stream& stream);  // one bit in the middle
  std::size_t bytes() const { return sources_->bytes(); }

 private:
  std::shared_ptr<const CopySources> sources_;
  std::unique_ptr<kernels::Buffer> target_;
  std::size_t next_ = 0;  // source of the next iteration's first pass
  int last_ = -1;         // source of the last pass
};

}  // namespace claimcheck::bench
