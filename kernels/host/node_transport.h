// Ranks of several processes of one node: what they share is a segment of memory; their buffers are their own. Small
// operations go through slots of the segment (node_staged.cpp), large ones straight from the other process's memory
// where Linux allows it (node_direct.cpp).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <vector>

#include "kernels/host/shared_segment.h"
#include "kernels/host/transport.h"

namespace claimcheck::kernels::host {

inline constexpr std::size_t line_bytes = 64;
inline constexpr std::uint64_t slots_of_rank = 4;

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free);

// Of one rank, in the segment; written by that rank only. Counts run on from operation to operation.
struct alignas(line_bytes) Progress {
  // Pieces put into slots, summed, and taken.
  Count put;
  Count summed;
  Count taken;
  // Operations that began, whose own share is summed, and that are done with the memory of others.
  alignas(line_bytes) Count begun;
  Count shared;
  Count done;
  std::atomic<const std::byte*> send;
  std::atomic<const std::byte*> receive;
  pid_t process;
};

class NodeTransport final : public Transport {
 public:
  NodeTransport(const Layout& layout, World& world);

  void take_part(Operation& operation, int local, const std::stop_token& closing) override;
  void abort() override { aborted().store(1, std::memory_order_relaxed); }
  Facts facts() const override;

  std::size_t ranks() const { return ranks_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  Progress& progress(std::size_t rank) const;
  std::byte* slot(std::size_t rank, std::uint64_t piece) const;
  std::byte* sums(std::uint64_t piece) const;
  // Until all ranks have counted so far; throws when the operation is given up.
  void wait(Count Progress::*counter, std::uint64_t count, const Operation& operation,
            const std::stop_token& closing) const;

 private:
  // The segment: a page with the sign to give up, what each rank has done, slots for sums, then the slots of each rank.
  std::size_t offset_of_sums() const;
  std::size_t offset_of_rank(std::size_t rank) const;
  std::atomic<std::uint32_t>& aborted() const;
  bool goes_direct(const Operation& operation) const;

  std::size_t ranks_;
  std::size_t first_;
  std::size_t slot_bytes_;
  SharedSegment segment_;
  bool direct_ = false;
  std::vector<std::uint64_t> pieces_;      // of each local rank: what its operations through slots have counted
  std::vector<std::uint64_t> operations_;  // of each local rank: direct ones
};

// One rank's part; `base` is what the rank has counted before. The first gives the number of pieces.
std::uint64_t take_staged_part(const NodeTransport& transport, const Operation& operation, int local,
                               std::uint64_t base, const std::stop_token& closing);
void take_direct_part(const NodeTransport& transport, const Operation& operation, int local, std::uint64_t base,
                      const std::stop_token& closing);

}  // namespace claimcheck::kernels::host
