#include "bench/copy_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/reference.h"

namespace claimcheck::bench {

using kernels::Slice;

CopySources::CopySources(kernels::Device& device, kernels::Stream& stream, kernels::Placement placement,
                         std::size_t bytes, std::uint64_t seed) {
  // Filled on the device whatever their place: not every kind can fill host memory.
  const std::unique_ptr<kernels::Buffer> made = device.allocate(bytes);
  for (std::size_t which = 0; which < buffers_.size(); ++which) {
    buffers_[which] = device.allocate(bytes, placement);
    device.fill(stream, *made, kernels::DataType::fp64, kernels::Pattern::normal, seed + which);
    content_[which].resize(bytes);
    device.download(stream, content_[which], *made);
    device.upload(stream, *buffers_[which], content_[which]);
  }
}

CopyPath::CopyPath(kernels::Device& owner, kernels::Stream& stream, kernels::Placement placement,
                   std::shared_ptr<const CopySources> sources)
    : sources_(std::move(sources)), target_(owner.allocate(sources_->bytes(), placement)) {
  const std::vector<std::byte> other(std::min<std::size_t>(bytes(), 4096), std::byte{0xa5});
  owner.upload(stream, Slice(*target_, 0, other.size()), other);
}

void CopyPath::enqueue(kernels::Device& worker, kernels::Stream& stream, kernels::CopyEngine engine, int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    const std::size_t source = (next_ + static_cast<std::size_t>(pass)) % 2;
    worker.copy(stream, *target_, sources_->buffer(source), engine);
    last_ = static_cast<int>(source);
  }
  // The last pass of the next iteration uses the other source.
  next_ = (next_ + 1) % 2;
}

void CopyPath::verify(kernels::Device& owner, kernels::Stream& stream, const std::string& what) const {
  constexpr std::size_t piece = std::size_t{8} << 20;
  if (last_ < 0) return;
  const std::span<const std::byte> expected = sources_->content(static_cast<std::size_t>(last_));
  std::vector<std::byte> found;
  for (std::size_t first = 0; first < bytes(); first += piece) {
    found.resize(std::min(piece, bytes() - first));
    owner.download(stream, found, Slice(*target_, first, found.size()));
    if (std::memcmp(found.data(), expected.data() + first, found.size()) == 0) continue;
    const auto [at, right] =
        std::mismatch(found.begin(), found.end(), expected.begin() + static_cast<std::ptrdiff_t>(first));
    throw kernels::wrong_result(fmt::format("{}: byte {} of {} is {:#04x}, expected {:#04x}", what,
                                            first + static_cast<std::size_t>(at - found.begin()), bytes(),
                                            std::to_integer<int>(*at), std::to_integer<int>(*right)));
  }
}

void CopyPath::spoil(kernels::Device& owner, kernels::Stream& stream) {
  flip_bit(owner, stream, *target_, bytes() / 2, 4);
}

}  // namespace claimcheck::bench
