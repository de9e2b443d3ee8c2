#include "bench/checkpoint_carrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <new>
#include <vector>

#include "bench/facts_json.h"

namespace claimcheck::bench {

Blocks::Blocks(std::size_t whole)
    : whole_bytes(whole),
      block_bytes(std::clamp(whole / depth / granule * granule, granule, largest_bytes)),
      count((whole + block_bytes - 1) / block_bytes) {}

std::size_t Blocks::bytes_of(std::size_t number) const {
  return std::min(block_bytes, whole_bytes - number * block_bytes);
}

namespace {

using Direction = BlockQueue::Direction;

// Of these, two are being copied while Blocks::depth are on their way to or from the file.
constexpr std::size_t copies = 2;
constexpr std::size_t slots = Blocks::depth + copies;

std::size_t slot_of(std::size_t number) { return number % slots; }

// Reads blocks in order, Blocks::depth of them ahead. `use` is called with each that arrived, and may go on with it
// until `finish` is called with it, which returns when it is done.
void read_in_order(BlockQueue& queue, const PublishedFile& file, const Blocks& blocks, std::byte* ring,
                   kernels::Duration deadline, const std::function<void(std::size_t number)>& use,
                   const std::function<void(std::size_t number)>& finish) {
  const auto submit = [&](std::size_t number) {
    if (number >= blocks.count) return;
    queue.submit(slot_of(number), Direction::read, file.descriptor(), number * blocks.block_bytes,
                 {ring + slot_of(number) * blocks.block_bytes, blocks.bytes_of(number)});
  };
  for (std::size_t number = 0; number < Blocks::depth; ++number) submit(number);
  for (std::size_t number = 0; number < blocks.count; ++number) {
    queue.wait(slot_of(number), deadline);
    if (number >= copies) finish(number - copies);
    use(number);
    submit(number + Blocks::depth);
  }
  for (std::size_t number = blocks.count - std::min(copies, blocks.count); number < blocks.count; ++number)
    finish(number);
}

// Memory of the ring as O_DIRECT wants it: at whole pages.
std::byte* page_in(const kernels::Buffer& buffer) {
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.address());
  const std::uintptr_t whole = (address + Blocks::granule - 1) / Blocks::granule * Blocks::granule;
  return static_cast<std::byte*>(buffer.address()) + (whole - address);
}

class PinnedCarrier final : public Carrier {
 public:
  PinnedCarrier(kernels::Device& device, kernels::Buffer& states, kernels::Duration deadline)
      : device_(device),
        states_(states),
        deadline_(deadline),
        blocks_(states.size_bytes()),
        buffer_(device.allocate(slots * blocks_.block_bytes + Blocks::granule, kernels::Placement::pinned_host)),
        ring_(page_in(*buffer_)),
        chosen_(make_block_queue(slots)) {
    for (auto& stream : streams_) stream = device.make_stream();
  }

  // While a block is written the next two are copied: one at work, one that follows at once.
  void save(const PublishedFile& file) override {
    BlockQueue& queue = *chosen_.queue;
    const auto fetch = [&](std::size_t number) {
      if (number >= blocks_.count) return;
      queue.wait(slot_of(number), deadline_);
      copy(number, true);
    };
    for (std::size_t number = 0; number < copies; ++number) fetch(number);
    for (std::size_t number = 0; number < blocks_.count; ++number) {
      stream_of(number).wait(deadline_);
      queue.submit(slot_of(number), Direction::write, file.descriptor(), number * blocks_.block_bytes,
                   {ring_ + slot_of(number) * blocks_.block_bytes, blocks_.bytes_of(number)});
      fetch(number + copies);
    }
    queue.wait_for_all(deadline_);
  }

  void restore(const PublishedFile& file) override {
    read_in_order(
        *chosen_.queue, file, blocks_, ring_, deadline_, [this](std::size_t number) { copy(number, false); },
        [this](std::size_t number) { stream_of(number).wait(deadline_); });
  }

  nlohmann::json conditions() const override {
    nlohmann::json result = {{"way", "by pinned host memory"},
                             {"io_engine", chosen_.queue->engine()},
                             {"block_bytes", blocks_.block_bytes},
                             {"queue_depth", Blocks::depth}};
    if (!chosen_.reason.empty()) result["io_engine_reason"] = chosen_.reason;
    return result;
  }

 private:
  kernels::Stream& stream_of(std::size_t number) { return *streams_[number % copies]; }

  void copy(std::size_t number, bool to_host) {
    const std::size_t bytes = blocks_.bytes_of(number);
    const auto ring_start = static_cast<std::size_t>(ring_ - static_cast<std::byte*>(buffer_->address()));
    const kernels::Slice host(*buffer_, ring_start + slot_of(number) * blocks_.block_bytes, bytes);
    const kernels::Slice device(states_, number * blocks_.block_bytes, bytes);
    device_.copy(stream_of(number), to_host ? host : device, to_host ? device : host, kernels::CopyEngine::copy_engine);
  }

  kernels::Device& device_;
  kernels::Buffer& states_;
  kernels::Duration deadline_;
  Blocks blocks_;
  std::array<std::unique_ptr<kernels::Stream>, copies> streams_;
  std::unique_ptr<kernels::Buffer> buffer_;
  std::byte* ring_;
  ChosenQueue chosen_;  // last: its blocks are in the buffer
};

// cuFile moves one block a call and thread.
class DirectCarrier final : public Carrier {
 public:
  DirectCarrier(kernels::Device& device, kernels::Buffer& states)
      : device_(device), states_(states), blocks_(states.size_bytes()) {}

  void save(const PublishedFile& file) override {
    move(file,
         [](kernels::DirectFile& direct, std::size_t offset, kernels::Slice slice) { direct.write(offset, slice); });
  }
  void restore(const PublishedFile& file) override {
    move(file,
         [](kernels::DirectFile& direct, std::size_t offset, kernels::Slice slice) { direct.read(offset, slice); });
  }

  nlohmann::json conditions() const override {
    nlohmann::json result = {{"way", "GPUDirect Storage"},
                             {"io_engine", "cufile"},
                             {"block_bytes", blocks_.block_bytes},
                             {"queue_depth", Blocks::depth}};
    if (facts_.is_object()) result["cufile"] = facts_;
    return result;
  }

 private:
  template <class Move>
  void move(const PublishedFile& file, Move one) {
    const std::unique_ptr<kernels::DirectFile> direct = device_.open_direct_file(file.descriptor(), states_);
    facts_ = to_json(direct->facts());
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::vector<std::future<void>> workers;
    for (std::size_t i = 0; i < Blocks::depth; ++i)
      workers.push_back(std::async(std::launch::async, [&] {
        try {
          for (std::size_t number = next++; number < blocks_.count && !failed; number = next++) {
            const std::size_t offset = number * blocks_.block_bytes;
            one(*direct, offset, kernels::Slice(states_, offset, blocks_.bytes_of(number)));
          }
        } catch (...) {
          failed = true;
          throw;
        }
      }));
    for (std::future<void>& worker : workers) worker.wait();
    for (std::future<void>& worker : workers) worker.get();
  }

  kernels::Device& device_;
  kernels::Buffer& states_;
  Blocks blocks_;
  nlohmann::json facts_;
};

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

}  // namespace

std::unique_ptr<Carrier> make_carrier(Way way, kernels::Device& device, kernels::Buffer& states,
                                      kernels::Duration deadline) {
  if (way == Way::direct) return std::make_unique<DirectCarrier>(device, states);
  return std::make_unique<PinnedCarrier>(device, states, deadline);
}

void read_back(const PublishedFile& file, kernels::Duration deadline,
               const std::function<void(std::size_t offset, std::span<const std::byte> content)>& look) {
  const Blocks blocks(file.size_bytes());
  const std::unique_ptr<std::byte, Free> ring(
      static_cast<std::byte*>(std::aligned_alloc(Blocks::granule, slots * blocks.block_bytes)));
  if (!ring) throw std::bad_alloc();
  const ChosenQueue chosen = make_block_queue(slots);
  read_in_order(
      *chosen.queue, file, blocks, ring.get(), deadline,
      [&](std::size_t number) {
        look(number * blocks.block_bytes, {ring.get() + slot_of(number) * blocks.block_bytes, blocks.bytes_of(number)});
      },
      [](std::size_t) {});
}

}  // namespace claimcheck::bench
