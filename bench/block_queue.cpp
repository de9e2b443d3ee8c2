#include "bench/block_queue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "bench/scratch_file.h"

namespace claimcheck::bench {

bool BlockQueue::Block::advance(long result) {
  if (result == -EINTR || result == -EAGAIN) return true;
  if (result < 0) {
    error = static_cast<int>(-result);
    return false;
  }
  ended = result == 0;
  const auto moved = std::min(static_cast<std::size_t>(result), memory.size());
  offset += moved;
  memory = memory.subspan(moved);
  return !ended && !memory.empty();
}

void BlockQueue::submit(std::size_t slot, Direction direction, int descriptor, std::size_t offset,
                        std::span<std::byte> memory) {
  blocks_.at(slot) = {direction, descriptor, offset, memory, true, 0, false};
  start(slot);
}

void BlockQueue::wait(std::size_t slot, kernels::Duration deadline) {
  const bool in_time = finish(slot, deadline);
  const Block& block = blocks_.at(slot);
  const char* const verb = block.direction == Direction::write ? "written" : "read";
  if (!in_time)
    throw kernels::Error(
        {.outcome = kernels::Outcome::timed_out,
         .library = "Linux",
         .code = {},
         .text = fmt::format("a block at byte {} was not {} within {:g} s", block.offset, verb, deadline.count()),
         .remedy = "see whether the disk or the file server answers, or allow a longer deadline"});
  if (block.error == ENOSPC || block.error == EDQUOT)
    throw system_error(fmt::format("the disk was full at byte {} of the file", block.offset), block.error,
                       "free some space or choose --file-bytes smaller");
  if (block.error == EFBIG)
    throw system_error(fmt::format("the file may not grow beyond byte {}", block.offset), block.error,
                       "raise the limit of file sizes (ulimit -f) or choose --file-bytes smaller");
  if (block.error != 0)
    throw system_error(fmt::format("the file cannot be {} at byte {}", verb, block.offset), block.error);
  if (block.ended)
    throw kernels::wrong_result(
        fmt::format("the file ends at byte {}; {} more were expected", block.offset, block.memory.size()));
}

void BlockQueue::wait_for_all(kernels::Duration deadline) {
  for (std::size_t slot = 0; slot < slots(); ++slot) wait(slot, deadline);
}

namespace {

// A thread for each slot, since each blocks while its block moves.
class ThreadQueue final : public BlockQueue {
 public:
  explicit ThreadQueue(std::size_t slots) : BlockQueue(slots) {
    threads_.reserve(slots);
    for (std::size_t i = 0; i < slots; ++i)
      threads_.emplace_back([this](const std::stop_token& closing) { work(closing); });
  }
  ~ThreadQueue() override {
    for (std::jthread& thread : threads_) thread.request_stop();
  }

  std::string engine() const override { return "threads"; }

 private:
  void start(std::size_t slot) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(slot);
    }
    arrived_.notify_one();
  }

  bool finish(std::size_t slot, kernels::Duration deadline) override {
    std::unique_lock lock(mutex_);
    return finished_.wait_for(lock, deadline, [&] { return !blocks_[slot].moving; });
  }

  void work(const std::stop_token& closing) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!arrived_.wait(lock, closing, [this] { return !waiting_.empty(); })) return;
      const std::size_t slot = waiting_.front();
      waiting_.pop_front();
      Block block = blocks_[slot];
      lock.unlock();
      while (block.advance(move(block))) continue;
      block.moving = false;
      lock.lock();
      blocks_[slot] = block;
      finished_.notify_all();
    }
  }

  static long move(const Block& block) {
    const auto offset = static_cast<off_t>(block.offset);
    const ssize_t result = block.direction == Direction::write
                               ? pwrite(block.descriptor, block.memory.data(), block.memory.size(), offset)
                               : pread(block.descriptor, block.memory.data(), block.memory.size(), offset);
    return result < 0 ? -errno : result;
  }

  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::condition_variable_any finished_;
  std::deque<std::size_t> waiting_;
  std::vector<std::jthread> threads_;  // last: they use the others
};

}  // namespace

std::unique_ptr<BlockQueue> make_thread_queue(std::size_t slots) { return std::make_unique<ThreadQueue>(slots); }

ChosenQueue make_block_queue(std::size_t slots) {
  try {
    return {make_uring_queue(slots), {}};
  } catch (const kernels::Error& error) {
    if (error.detail().outcome != kernels::Outcome::unsupported) throw;
    return {make_thread_queue(slots), error.detail().text};
  }
}

}  // namespace claimcheck::bench
