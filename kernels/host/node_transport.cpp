#include "kernels/host/node_transport.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/host/process_memory.h"
#include "kernels/host/team.h"

namespace claimcheck::kernels::host {

namespace {

constexpr std::size_t page = 4096;

// A part of all slots that stays within 32 MiB, and lets one piece for each rank start at a cache line.
std::size_t slot_bytes_for(std::size_t ranks) {
  const std::size_t wanted = (std::size_t{32} << 20) / (ranks * slots_of_rank);
  const std::size_t bytes = std::clamp(wanted, std::size_t{16} << 10, std::size_t{256} << 10);
  return std::max(bytes, ranks * line_bytes + page) / page * page;
}

}  // namespace

NodeTransport::NodeTransport(const Layout& layout, World& world)
    : ranks_(static_cast<std::size_t>(layout.ranks())),
      first_(static_cast<std::size_t>(layout.first_rank())),
      slot_bytes_(slot_bytes_for(ranks_)),
      segment_(world, offset_of_rank(ranks_)),
      pieces_(static_cast<std::size_t>(layout.local_ranks())),
      operations_(pieces_.size()) {
  if (world.process() == 0) segment_.reserve(0, offset_of_rank(0));
  segment_.reserve(offset_of_rank(first_), offset_of_rank(first_ + pieces_.size()) - offset_of_rank(first_));
  allow_reading();
  world.barrier();
  segment_.forget_name();
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    progress(first_ + i).process = getpid();
    progress(first_ + i).send = segment_.address();  // something to try out
  }
  world.barrier();
  // CLAIMCHECK_STAGED: as where Linux refuses it.
  bool allowed = std::getenv("CLAIMCHECK_STAGED") == nullptr;
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    allowed = allowed && can_read(progress(rank).process, progress(rank).send);
  // One that may not read takes the slots, and so do all.
  direct_ = world.max(allowed ? 0 : 1) == 0;
}

Progress& NodeTransport::progress(std::size_t rank) const {
  return reinterpret_cast<Progress*>(segment_.address() + page)[rank];
}

std::size_t NodeTransport::offset_of_sums() const {
  return page + (ranks_ * sizeof(Progress) + page - 1) / page * page;
}

std::size_t NodeTransport::offset_of_rank(std::size_t rank) const {
  return offset_of_sums() + (1 + rank) * static_cast<std::size_t>(slots_of_rank) * slot_bytes_;
}

std::atomic<std::uint32_t>& NodeTransport::aborted() const {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(segment_.address());
}

std::byte* NodeTransport::slot(std::size_t rank, std::uint64_t piece) const {
  return segment_.address() + offset_of_rank(rank) + static_cast<std::size_t>(piece % slots_of_rank) * slot_bytes_;
}

std::byte* NodeTransport::sums(std::uint64_t piece) const {
  return segment_.address() + offset_of_sums() + static_cast<std::size_t>(piece % slots_of_rank) * slot_bytes_;
}

void NodeTransport::wait(Count Progress::*counter, std::uint64_t count, const Operation& operation,
                         const std::stop_token& closing) const {
  for (std::size_t rank = 0; rank < ranks_; ++rank)
    for (Patience patience; (progress(rank).*counter).load(std::memory_order_acquire) < count; patience.pause())
      if (operation.given_up(closing) || aborted().load(std::memory_order_relaxed) != 0) throw operation.not_coming();
}

// Reading another process's memory costs a call and pages to be looked up, which small operations do not earn back.
bool NodeTransport::goes_direct(const Operation& operation) const {
  constexpr std::size_t worthwhile = std::size_t{128} << 10;
  return direct_ && operation.part_bytes() >= worthwhile;
}

void NodeTransport::take_part(Operation& operation, int local, const std::stop_token& closing) {
  const auto me = static_cast<std::size_t>(local);
  if (goes_direct(operation)) {
    take_direct_part(*this, operation, local, operations_[me]++, closing);
  } else {
    pieces_[me] += take_staged_part(*this, operation, local, pieces_[me], closing);
  }
}

Facts NodeTransport::facts() const {
  return {{"algorithm", direct_ ? "direct; staged below 128 KiB" : "staged"},
          {"transport", "shared memory between processes"},
          {"slot_bytes", static_cast<std::int64_t>(slot_bytes_)}};
}

std::unique_ptr<Transport> make_node_transport(const Layout& layout, World& world) {
  return std::make_unique<NodeTransport>(layout, world);
}

}  // namespace claimcheck::kernels::host
