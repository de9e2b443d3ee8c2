// The queue by io_uring (liburing): requests are handed to the kernel and completed in any order, from one thread.
#include <fmt/format.h>

#include "bench/block_queue.h"

#ifdef CLAIMCHECK_WITH_URING

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "bench/scratch_file.h"

namespace claimcheck::bench {

namespace {

using Clock = std::chrono::steady_clock;

class UringQueue final : public BlockQueue {
 public:
  explicit UringQueue(std::size_t slots) : BlockQueue(slots) {
    const int result = io_uring_queue_init(static_cast<unsigned>(slots), &ring_, 0);
    if (result == 0) return;
    const char* const name = strerrorname_np(-result);
    throw kernels::unsupported(fmt::format("io_uring cannot be used here ({})", name == nullptr ? "?" : name));
  }

  // The kernel must not write into memory that others get meanwhile. A device that never answers is not waited for.
  ~UringQueue() override {
    constexpr kernels::Duration longest = std::chrono::seconds(5);
    for (std::size_t slot = 0; slot < blocks_.size(); ++slot) {
      try {
        finish(slot, longest);
      } catch (const kernels::Error&) {
        break;  // the ring itself does not work any more
      }
    }
    io_uring_queue_exit(&ring_);
  }

  std::string engine() const override { return "io_uring"; }

 private:
  void start(std::size_t slot) override {
    io_uring_sqe* const request = io_uring_get_sqe(&ring_);  // never null: there are as many as slots
    const Block& block = blocks_[slot];
    const auto size = static_cast<unsigned>(block.memory.size());
    if (block.direction == Direction::write)
      io_uring_prep_write(request, block.descriptor, block.memory.data(), size, block.offset);
    else
      io_uring_prep_read(request, block.descriptor, block.memory.data(), size, block.offset);
    io_uring_sqe_set_data(request, &blocks_[slot]);
    const int result = io_uring_submit(&ring_);
    if (result < 0) {
      blocks_[slot].moving = false;
      throw system_error("a request could not be handed to io_uring", -result);
    }
  }

  bool finish(std::size_t slot, kernels::Duration deadline) override {
    const Clock::time_point start = Clock::now();
    while (blocks_[slot].moving) {
      const kernels::Duration left = deadline - (Clock::now() - start);
      if (left <= kernels::Duration::zero()) return false;
      // In steps: a time too long to be counted in nanoseconds would be none.
      const auto step = std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::min<kernels::Duration>(left, std::chrono::hours(1)));
      __kernel_timespec time{.tv_sec = step.count() / 1'000'000'000, .tv_nsec = step.count() % 1'000'000'000};
      io_uring_cqe* completion = nullptr;
      const int result = io_uring_wait_cqe_timeout(&ring_, &completion, &time);
      if (result == -ETIME || result == -EINTR || result == -EAGAIN) continue;
      if (result < 0) throw system_error("io_uring gave no answer", -result);
      complete(completion);
    }
    return true;
  }

  void complete(io_uring_cqe* completion) {
    auto& block = *static_cast<Block*>(io_uring_cqe_get_data(completion));
    const bool more = block.advance(completion->res);
    io_uring_cqe_seen(&ring_, completion);
    if (more) return start(static_cast<std::size_t>(&block - blocks_.data()));
    block.moving = false;
  }

  io_uring ring_{};
};

}  // namespace

std::unique_ptr<BlockQueue> make_uring_queue(std::size_t slots) { return std::make_unique<UringQueue>(slots); }

}  // namespace claimcheck::bench

#else

namespace claimcheck::bench {

std::unique_ptr<BlockQueue> make_uring_queue(std::size_t /*slots*/) {
  throw kernels::unsupported("this build has no io_uring: liburing was missing");
}

}  // namespace claimcheck::bench

#endif
