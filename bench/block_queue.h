// Blocks on their way between memory and a file, several at once: by io_uring, or by threads where that is forbidden or
// missing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

// A queue has slots; each holds one block at a time. The memory of a block must outlive its transfer, and the queue.
class BlockQueue {
 public:
  enum class Direction { write, read };

  virtual ~BlockQueue() = default;
  BlockQueue(const BlockQueue&) = delete;
  BlockQueue& operator=(const BlockQueue&) = delete;

  virtual std::string engine() const = 0;  // "io_uring", "threads"
  std::size_t slots() const { return blocks_.size(); }

  // The slot must be free: never used, or waited for. Offset, size and address as O_DIRECT wants them.
  void submit(std::size_t slot, Direction direction, int descriptor, std::size_t offset, std::span<std::byte> memory);

  // Returns when the slot's block is moved, at once when there is none. Throws failed with the system's reason,
  // wrong_result when the file ends too early, timed_out past the deadline.
  void wait(std::size_t slot, kernels::Duration deadline);
  void wait_for_all(kernels::Duration deadline);

 protected:
  struct Block {
    Direction direction = Direction::write;
    int descriptor = -1;
    std::size_t offset = 0;
    std::span<std::byte> memory;  // what is still to be moved
    bool moving = false;
    int error = 0;
    bool ended = false;  // the file had no more to read, or the device took nothing

    // What a system call or its like returned: bytes, or a negative errno. True when more of it is to be asked for.
    bool advance(long result);
  };

  explicit BlockQueue(std::size_t slots) : blocks_(slots) {}
  virtual void start(std::size_t slot) = 0;
  virtual bool finish(std::size_t slot, kernels::Duration deadline) = 0;  // until it no longer moves; false: too late

  std::vector<Block> blocks_;
};

// Throws unsupported with the reason.
std::unique_ptr<BlockQueue> make_uring_queue(std::size_t slots);
std::unique_ptr<BlockQueue> make_thread_queue(std::size_t slots);

// io_uring where it can be had; else threads, and why in `reason`.
struct ChosenQueue {
  std::unique_ptr<BlockQueue> queue;
  std::string reason;
};
ChosenQueue make_block_queue(std::size_t slots);

}  // namespace claimcheck::bench
