#include "tests/virtual_platform/emulator/block.h"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <cstring>

__thread uint3 threadIdx __attribute__((tls_model("initial-exec")));
__thread uint3 blockIdx __attribute__((tls_model("initial-exec")));
__thread uint3 blockDim __attribute__((tls_model("initial-exec")));
__thread uint3 gridDim __attribute__((tls_model("initial-exec")));

namespace virtual_platform {

namespace {

// Quicker to reach than a thread_local object of a library.
__thread Block* this_block __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

Block& Block::of_this_thread() {
  if (this_block == nullptr) {
    thread_local Block block;
    this_block = &block;
  }
  return *this_block;
}

bool Block::run(const CompiledKernel& kernel, void* const* arguments, uint3 index, uint3 size, uint3 grid, Part part) {
  kernel_ = &kernel;
  arguments_ = arguments;
  size_ = size;
  blockIdx = index;
  blockDim = size;
  gridDim = grid;
  const std::uint32_t count = size.x * size.y * size.z;
  threads_.assign(count, {});
  warps_.resize((count + 31) / 32);
  for (Warp& warp : warps_) {
    warp.barriers.clear();
    warp.ended = 0;
    warp.arrived = 0;
  }
  ready_.clear();
  first_ready_ = 0;
  at_barrier_.clear();
  next_ = part.first;
  end_ = part.first + part.count;
  alive_ = part.count;
  votes_ = voters_ = 0;
  error_.clear();
  while (alive_ > 0 && error_.empty()) {
    if (Thread* thread = take_ready()) {
      enter(*thread);
      virtual_platform_switch(&scheduler_, thread->place);
    } else if (next_ < end_) {
      fiber_stack_ = stacks_.take();
      virtual_platform_switch(&scheduler_, prepare_fiber(fiber_stack_, &Block::fiber));
    } else {
      error_ = fmt::format(
          "deadlock in block ({}, {}, {}): {} of {} threads wait at a barrier for the block, the others "
          "for their warp",
          index.x, index.y, index.z, at_barrier_.size(), alive_);
    }
  }
  // After an error threads are left where they wait.
  if (!error_.empty())
    for (Thread& thread : threads_)
      if (thread.stack != nullptr) stacks_.give(thread.stack);
  running_ = nullptr;
  return error_.empty();
}

// Runs threads that were not started, one after another; a thread that waited goes on in its own fiber's loop.
void Block::fiber() {
  Block& block = of_this_thread();
  while (block.next_ < block.end_) {
    Thread& thread = block.threads_[block.next_];
    thread.index = block.next_++;
    block.start(thread);
  }
  block.stacks_.give(block.fiber_stack_);
  block.running_ = nullptr;
  void* nowhere = nullptr;
  virtual_platform_switch(&nowhere, block.scheduler_);
  std::abort();
}

void Block::start(Thread& thread) {
  running_ = &thread;
  thread.position = {thread.index % size_.x, thread.index / size_.x % size_.y, thread.index / (size_.x * size_.y)};
  threadIdx = thread.position;
  kernel_->call(arguments_);
  end_thread();
}

void Block::end_thread() {
  --alive_;
  Warp& mine = warp();
  mine.ended |= 1U << lane();
  if (!mine.barriers.empty()) release_warp(mine, running_->index / 32 * 32);
  if (mine.arrived != 0 && (mine.arrived | mine.ended) == 0xffffffffU) {
    wake(mine.arrived, running_->index / 32 * 32);
    mine.arrived = 0;
  }
  if (alive_ > 0 && at_barrier_.size() == alive_) release_block();
}

// Goes straight to a thread that can go on, if there is one.
void Block::sleep() {
  Thread& thread = *running_;
  thread.stack = fiber_stack_;
  Thread* next = error_.empty() ? take_ready() : nullptr;
  if (next == &thread) {
    enter(thread);
  } else if (next != nullptr) {
    enter(*next);
    virtual_platform_switch(&thread.place, next->place);
  } else {
    virtual_platform_switch(&thread.place, scheduler_);
  }
}

Block::Thread* Block::take_ready() {
  if (first_ready_ == ready_.size()) return nullptr;
  Thread* thread = ready_[first_ready_++];
  if (constexpr std::size_t many = 4096; first_ready_ == ready_.size() || first_ready_ == many) {
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(first_ready_));
    first_ready_ = 0;
  }
  return thread;
}

// What a thread that goes on expects to find.
void Block::enter(Thread& thread) {
  running_ = &thread;
  fiber_stack_ = thread.stack;
  thread.stack = nullptr;
  threadIdx = thread.position;
}

void Block::release_block() {
  last_votes_ = votes_;
  last_voters_ = voters_;
  votes_ = voters_ = 0;
  ready_.insert(ready_.end(), at_barrier_.begin(), at_barrier_.end());
  at_barrier_.clear();
}

int Block::vote(bool mine, Vote vote) {
  votes_ += mine ? 1 : 0;
  ++voters_;
  at_barrier_.push_back(running_);
  if (at_barrier_.size() == alive_) release_block();
  sleep();
  switch (vote) {
    case Vote::all:
      return static_cast<int>(last_votes_ == last_voters_);
    case Vote::any:
      return static_cast<int>(last_votes_ > 0);
    default:
      return last_votes_;
  }
}

// The mask without lanes beyond the block's end.
std::uint32_t Block::present(std::uint32_t mask) const {
  const std::size_t left = threads_.size() - running_->index / 32 * 32;
  return left < 32 ? mask & ((1U << left) - 1) : mask;
}

std::uint32_t Block::active_lanes() const { return present(0xffffffffU) & ~warp().ended; }

void Block::wake(std::uint32_t lanes, std::uint32_t first_thread) {
  for (; lanes != 0; lanes &= lanes - 1)
    ready_.push_back(&threads_[first_thread + static_cast<std::uint32_t>(std::countr_zero(lanes))]);
}

const std::byte* Block::exchange(std::uint32_t mask, const void* mine, std::size_t bytes) {
  Warp& warp = this->warp();
  constexpr std::uint32_t all = 0xffffffffU;
  if (mask != all || bytes > sizeof warp.values[0][0] || warp.ended != 0 || present(all) != all) return nullptr;
  auto& values = warp.values[running_->exchanges++ % 2];
  std::memcpy(values[lane()], mine, bytes);
  warp.arrived |= 1U << lane();
  if (warp.arrived == all) {
    warp.arrived = 0;
    wake(all & ~(1U << lane()), running_->index / 32 * 32);
  } else {
    sleep();
  }
  return values[0];
}

void Block::release_warp(Warp& warp, std::uint32_t first_thread) {
  std::erase_if(warp.barriers, [&](const Barrier& barrier) {
    if (((barrier.arrived | warp.ended) & barrier.mask) != barrier.mask) return false;
    wake(barrier.arrived, first_thread);
    return true;
  });
}

void Block::warp_barrier(std::uint32_t mask) {
  mask = present(mask);
  const std::uint32_t mine = 1U << lane();
  if ((mask & mine) == 0) fail("a lane calls an operation of its warp that its mask leaves out");
  Warp& warp = this->warp();
  Barrier* found = nullptr;
  for (Barrier& barrier : warp.barriers)
    if (barrier.mask == mask) found = &barrier;
  if (found == nullptr) found = &warp.barriers.emplace_back(Barrier{mask, 0});
  found->arrived |= mine;
  release_warp(warp, running_->index / 32 * 32);
  sleep();
}

void Block::offer(std::uint32_t mask, const void* mine) {
  warp().offers[lane()] = mine;
  warp_barrier(mask);
}

const void* Block::offered(int by_lane) const { return warp().offers[by_lane]; }

void Block::withdraw(std::uint32_t mask) {
  warp_barrier(mask);
  warp().offers[lane()] = nullptr;
}

void Block::fail(const std::string& reason) {
  if (error_.empty()) error_ = reason;
  sleep();  // for ever
  std::abort();
}

const std::byte* warp_exchange(std::uint32_t mask, const void* mine, std::size_t bytes) {
  return Block::of_this_thread().exchange(mask, mine, bytes);
}
int lane() { return Block::of_this_thread().lane(); }
void block_barrier() { Block::of_this_thread().vote(false, Vote::count); }
int block_vote(bool mine, Vote vote) { return Block::of_this_thread().vote(mine, vote); }
void warp_barrier(std::uint32_t mask) { Block::of_this_thread().warp_barrier(mask); }
std::uint32_t active_lanes() { return Block::of_this_thread().active_lanes(); }
void warp_offer(std::uint32_t mask, const void* mine) { Block::of_this_thread().offer(mask, mine); }
const void* warp_offered(int by_lane) { return Block::of_this_thread().offered(by_lane); }
void warp_withdraw(std::uint32_t mask) { Block::of_this_thread().withdraw(mask); }
void trap(const char* reason) { Block::of_this_thread().fail(reason); }

}  // namespace virtual_platform
