// Ranks of one process: one direct algorithm. A rank waits until all have arrived, does its part straight from and to
// the buffers of all others, and waits until all are done. Reductions: each rank sums its slice of all ranks and writes
// it where it belongs.
#include "kernels/host/group_reduce.h"
#include "kernels/host/memory_loops.h"
#include "kernels/host/team.h"
#include "kernels/host/transport.h"

namespace claimcheck::kernels::host {

namespace {

void meet(const Operation& operation, std::atomic<int>& counter, const std::stop_token& closing) {
  counter.fetch_add(1, std::memory_order_acq_rel);
  for (Patience patience; counter.load(std::memory_order_acquire) < operation.ranks; patience.pause())
    if (operation.given_up(closing)) throw operation.not_coming();
}

// Slices of an all-reduce start at cache lines.
Share slice_of(const Operation& operation, int rank) {
  return share_of(operation.count, rank, operation.ranks, 64 / operation.bytes(1));
}

void sum_part(const Operation& operation, int rank) {
  const bool everywhere = operation.collective == Collective::all_reduce;
  const auto me = static_cast<std::size_t>(rank);
  const Share slice = everywhere ? slice_of(operation, rank) : Share{me * operation.count, operation.count};
  const std::size_t offset = operation.bytes(slice.first);
  std::vector<const std::byte*> sources;
  for (const Region& region : operation.send) sources.push_back(region.address + offset);
  std::vector<std::byte*> targets;
  if (everywhere) {
    for (const Region& region : operation.receive) targets.push_back(region.address + offset);
  } else {
    targets.push_back(operation.receive[me].address);
  }
  sum_slices(operation.type, sources, targets, slice.count, operation.bypass);
}

void do_part(const Operation& operation, int rank) {
  const auto me = static_cast<std::size_t>(rank);
  const auto ranks = operation.send.size();
  const std::size_t bytes = operation.part_bytes();
  std::byte* const mine = operation.receive[me].address;
  const auto copy_part = [&](std::byte* target, const std::byte* source) {
    if (target != source) copy_bytes(target, source, bytes, operation.bypass);  // the same address: in place
  };
  switch (operation.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      return sum_part(operation, rank);
    case Collective::all_gather:
      for (std::size_t i = 0; i < ranks; ++i) {
        const std::size_t from = (me + i) % ranks;  // not all from the same rank at the same time
        copy_part(mine + from * bytes, operation.send[from].address);
      }
      return;
    case Collective::broadcast:
      return copy_part(mine, operation.send[0].address);
    case Collective::send_receive:
      return copy_part(mine, operation.send[(me + ranks - 1) % ranks].address);
    case Collective::all_to_all:
      for (std::size_t i = 0; i < ranks; ++i) {
        const std::size_t from = (me + i) % ranks;
        copy_part(mine + from * bytes, operation.send[from].address + me * bytes);
      }
      return;
  }
}

class ThreadTransport final : public Transport {
 public:
  void take_part(Operation& operation, int local, const std::stop_token& closing) override {
    meet(operation, operation.arrived, closing);
    do_part(operation, local);
    meet(operation, operation.done, closing);
  }
  Facts facts() const override { return {{"algorithm", "direct"}, {"transport", "shared memory"}}; }
};

}  // namespace

std::unique_ptr<Transport> make_thread_transport() { return std::make_unique<ThreadTransport>(); }

}  // namespace claimcheck::kernels::host
