// Straight from the memory of the others: a rank waits until all have begun, reads what it needs of their buffers, and
// waits until all are done. An all-reduce sums its share first, and reads the shares of the others then.
#include <algorithm>

#include "kernels/host/group_reduce.h"
#include "kernels/host/memory_loops.h"
#include "kernels/host/node_transport.h"
#include "kernels/host/process_memory.h"
#include "kernels/host/team.h"

namespace claimcheck::kernels::host {

namespace {

// Of what a sum reads from all others at a time: it stays in the second-level cache.
constexpr std::size_t read_bytes = std::size_t{256} << 10;

class Part {
 public:
  Part(const NodeTransport& transport, const Operation& operation, int local, std::uint64_t base,
       const std::stop_token& closing)
      : transport_(transport),
        operation_(operation),
        closing_(closing),
        number_(base + 1),
        ranks_(transport.ranks()),
        me_(static_cast<std::size_t>(operation.first_rank + local)),
        send_(operation.send[static_cast<std::size_t>(local)].address),
        receive_(operation.receive[static_cast<std::size_t>(local)].address),
        total_(operation.part_bytes()) {}

  void run() {
    mine().send.store(send_, std::memory_order_relaxed);
    mine().receive.store(receive_, std::memory_order_relaxed);
    meet(&Progress::begun);
    work();
    meet(&Progress::done);
  }

 private:
  Progress& mine() const { return transport_.progress(me_); }
  Progress& of(std::size_t rank) const { return transport_.progress(rank); }
  const std::byte* send_of(std::size_t rank) const { return of(rank).send.load(std::memory_order_relaxed); }

  void meet(Count Progress::*counter) const {
    (mine().*counter).store(number_, std::memory_order_release);
    transport_.wait(counter, number_, operation_, closing_);
  }

  void fetch(std::size_t rank, std::byte* target, const std::byte* source, std::size_t bytes) const {
    if (of(rank).process != mine().process) return read_memory_of(of(rank).process, target, source, bytes);
    if (target != source) copy_bytes(target, source, bytes, operation_.bypass);
  }

  void work() const {
    switch (operation_.collective) {
      case Collective::all_reduce:
        return all_reduce();
      case Collective::reduce_scatter:
        return sum(me_ * total_, total_, receive_);
      case Collective::broadcast:
        return fetch(0, receive_, send_of(0), total_);
      case Collective::send_receive: {
        const std::size_t from = (me_ + ranks_ - 1) % ranks_;
        return fetch(from, receive_, send_of(from), total_);
      }
      case Collective::all_gather:
      case Collective::all_to_all:
        for (std::size_t i = 0; i < ranks_; ++i) {
          const std::size_t from = (me_ + i) % ranks_;  // not all from the same rank at the same time
          const std::size_t offset = operation_.collective == Collective::all_to_all ? me_ * total_ : 0;
          fetch(from, receive_ + from * total_, send_of(from) + offset, total_);
        }
    }
  }

  // Of `bytes` bytes from `first` on, of all ranks.
  void sum(std::size_t first, std::size_t bytes, std::byte* target) const {
    const std::size_t block = std::max(read_bytes / (ranks_ - 1) / line_bytes, std::size_t{64}) * line_bytes;
    std::vector<std::byte> read((ranks_ - 1) * block);
    std::vector<const std::byte*> sources(ranks_);
    for (std::size_t at = 0; at < bytes; at += block) {
      const std::size_t some = std::min(block, bytes - at);
      std::byte* next = read.data();
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const std::byte* const source = send_of(rank) + first + at;
        sources[rank] = source;
        if (of(rank).process == mine().process) continue;
        fetch(rank, next, source, some);
        sources[rank] = next;
        next += block;
      }
      std::byte* const part = target + at;
      sum_slices(operation_.type, sources, {&part, 1}, some / operation_.bytes(1), false);
    }
  }

  void all_reduce() const {
    const auto share = [this](std::size_t rank) {
      return share_of(total_, static_cast<int>(rank), static_cast<int>(ranks_), line_bytes);
    };
    sum(share(me_).first, share(me_).count, receive_ + share(me_).first);
    meet(&Progress::shared);
    for (std::size_t i = 1; i < ranks_; ++i) {
      const std::size_t from = (me_ + i) % ranks_;
      const auto [first, count] = share(from);
      fetch(from, receive_ + first, of(from).receive.load(std::memory_order_relaxed) + first, count);
    }
  }

  const NodeTransport& transport_;
  const Operation& operation_;
  const std::stop_token& closing_;
  std::uint64_t number_;  // of this operation
  std::size_t ranks_;
  std::size_t me_;
  const std::byte* send_;
  std::byte* receive_;
  std::size_t total_;  // bytes of the part that a rank sends to one or to all
};

}  // namespace

void take_direct_part(const NodeTransport& transport, const Operation& operation, int local, std::uint64_t base,
                      const std::stop_token& closing) {
  Part(transport, operation, local, base, closing).run();
}

}  // namespace claimcheck::kernels::host
