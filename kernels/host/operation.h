// One collective under way, seen from one process: what is to be done, and the buffers of its own ranks.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/host/buffer.h"

namespace claimcheck::kernels::host {

using Aborted = std::shared_ptr<std::atomic<bool>>;

Error mistake(std::string text);
Error rank_timed_out(std::string text);

// What the ranks of this process share; the counters are for ranks that meet in one process only.
struct Operation {  // NOLINT(clang-analyzer-optin.performance.Padding)
  Collective collective{};
  DataType type{};
  std::size_t count = 0;  // elements, as Group::enqueue defines it
  bool bypass = false;    // what is received does not fit the caches
  int ranks = 0;          // of all processes
  int first_rank = 0;     // of this process
  std::vector<Region> send;
  std::vector<Region> receive;
  Aborted aborted;
  alignas(64) std::atomic<int> arrived{0};
  alignas(64) std::atomic<int> done{0};

  int local_ranks() const { return static_cast<int>(send.size()); }
  std::size_t bytes(std::size_t elements) const { return storage_bytes(type, elements); }
  std::size_t part_bytes() const { return bytes(count); }
  bool given_up(const std::stop_token& closing) const {
    return aborted->load(std::memory_order_relaxed) || closing.stop_requested();
  }
  Error not_coming() const;
};

// How many times `count` elements the two buffers of a rank hold.
struct Multiples {
  std::size_t send = 1;
  std::size_t receive = 1;
};
Multiples multiples_of(Collective collective, std::size_t ranks);

// Throws what Group::enqueue has to refuse.
void check_type(Collective collective, DataType type, std::size_t count);
void add_buffers(Operation& operation, const Group::Buffers& buffers, int rank);

}  // namespace claimcheck::kernels::host
