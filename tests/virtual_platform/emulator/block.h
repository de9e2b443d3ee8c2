// One block of a grid at a time, on the calling thread of the operating system. Threads of the block run one after
// another on one stack, as a plain loop, until one has to wait for others: the loop then goes on on a new stack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/virtual_platform/emulator/fiber.h"
#include "tests/virtual_platform/emulator/kernel.h"
#include "tests/virtual_platform/emulator/threads.h"

namespace virtual_platform {

class Block {
 public:
  // Which threads of the block.
  struct Part {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  // False when a thread did what ends the grid; error() then says what.
  bool run(const CompiledKernel& kernel, void* const* arguments, uint3 index, uint3 size, uint3 grid, Part part);
  const std::string& error() const { return error_; }

  // For the running thread.
  int lane() const { return static_cast<int>(running_->index % 32); }
  int vote(bool mine, Vote vote);
  const std::byte* exchange(std::uint32_t mask, const void* mine, std::size_t bytes);
  void warp_barrier(std::uint32_t mask);
  std::uint32_t active_lanes() const;
  void offer(std::uint32_t mask, const void* mine);
  const void* offered(int by_lane) const;
  void withdraw(std::uint32_t mask);
  [[noreturn]] void fail(const std::string& reason);
  bool is_running() const { return running_ != nullptr; }

  static Block& of_this_thread();  // made when first asked for

 private:
  struct Thread {
    std::uint32_t index = 0;
    uint3 position = {};
    std::uint32_t exchanges = 0;  // of the whole warp it took part in
    void* place = nullptr;        // where it waits
    char* stack = nullptr;
  };
  // Threads of a warp that wait for each other.
  struct Barrier {
    std::uint32_t mask;
    std::uint32_t arrived;
  };
  struct Warp {
    std::vector<Barrier> barriers;
    std::uint32_t ended = 0;
    const void* offers[32] = {};
    // Exchanges of the whole warp. Two places for each lane's value, taking turns: who is ahead writes for the next one
    // while others still read, and gets no further than that.
    std::uint32_t arrived = 0;
    alignas(16) std::byte values[2][32][16];
  };

  static void fiber();
  void start(Thread& thread);
  void end_thread();
  void sleep();
  Thread* take_ready();
  void enter(Thread& thread);
  void release_block();
  void release_warp(Warp& warp, std::uint32_t first_thread);
  void wake(std::uint32_t lanes, std::uint32_t first_thread);
  std::uint32_t present(std::uint32_t mask) const;
  Warp& warp() { return warps_[running_->index / 32]; }
  const Warp& warp() const { return warps_[running_->index / 32]; }

  const CompiledKernel* kernel_ = nullptr;
  void* const* arguments_ = nullptr;
  uint3 size_ = {};
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Thread*> ready_;  // a queue, from first_ready_ on
  std::size_t first_ready_ = 0;
  std::vector<Thread*> at_barrier_;
  std::uint32_t next_ = 0;   // first thread not started
  std::uint32_t end_ = 0;    // behind the last to start
  std::uint32_t alive_ = 0;  // not ended
  int votes_ = 0;
  int voters_ = 0;
  int last_votes_ = 0;
  int last_voters_ = 0;
  Thread* running_ = nullptr;
  void* scheduler_ = nullptr;    // its place
  char* fiber_stack_ = nullptr;  // of the running fiber
  Stacks stacks_;
  std::string error_;
};

}  // namespace virtual_platform
