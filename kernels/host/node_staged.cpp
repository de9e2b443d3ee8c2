// Through slots: each rank puts its pieces into its slots, sums its share of a piece of all ranks, and takes what it is
// to have; a few slots each let ranks run ahead of one another.
#include <algorithm>
#include <cstring>

#include "kernels/host/group_reduce.h"
#include "kernels/host/memory_loops.h"
#include "kernels/host/node_transport.h"
#include "kernels/host/team.h"

namespace claimcheck::kernels::host {

namespace {

// One rank in one operation.
class Part {
 public:
  Part(const NodeTransport& transport, const Operation& operation, int local, std::uint64_t base,
       const std::stop_token& closing)
      : transport_(transport),
        operation_(operation),
        closing_(closing),
        base_(base),
        ranks_(transport.ranks()),
        me_(static_cast<std::size_t>(operation.first_rank + local)),
        send_(operation.send[static_cast<std::size_t>(local)].address),
        receive_(operation.receive[static_cast<std::size_t>(local)].address),
        total_(operation.part_bytes()),
        apart_(operation.collective == Collective::reduce_scatter || operation.collective == Collective::all_to_all),
        step_(apart_ ? transport.slot_bytes() / ranks_ / line_bytes * line_bytes : transport.slot_bytes()) {}

  // Puts one piece ahead, so that the others' work on it overlaps with this rank's on the one before.
  std::uint64_t run() {
    const std::uint64_t count = (total_ + step_ - 1) / step_;
    put(0);
    for (std::uint64_t piece = 0; piece < count; ++piece) {
      if (piece + 1 < count) put(piece + 1);
      sum(piece);
      if (piece > 0) take(piece - 1);
    }
    if (count > 0) take(count - 1);
    return count;
  }

 private:
  std::size_t first(std::uint64_t piece) const { return static_cast<std::size_t>(piece) * step_; }
  std::size_t length(std::uint64_t piece) const { return std::min(step_, total_ - std::min(total_, first(piece))); }
  Progress& mine() const { return transport_.progress(me_); }

  void wait(Count Progress::*counter, std::uint64_t pieces) const {
    transport_.wait(counter, pieces, operation_, closing_);
  }

  // In bytes of the piece, what this rank sums in an all-reduce.
  Share share(std::uint64_t piece) const {
    return share_of(length(piece), static_cast<int>(me_), static_cast<int>(ranks_), line_bytes);
  }

  void put(std::uint64_t piece) {
    const std::uint64_t number = base_ + piece;
    if (number >= slots_of_rank) wait(&Progress::taken, number + 1 - slots_of_rank);
    std::byte* const slot = transport_.slot(me_, number);
    const std::byte* const from = send_ + first(piece);
    const std::size_t bytes = length(piece);
    if (operation_.collective == Collective::all_reduce) {
      const Share own = share(piece);
      std::memcpy(slot, from, own.first);
      std::memcpy(slot + own.first + own.count, from + own.first + own.count, bytes - own.first - own.count);
    } else if (apart_) {
      for (std::size_t to = 0; to < ranks_; ++to)
        if (to != me_) std::memcpy(slot + to * step_, from + to * total_, bytes);
    } else if (operation_.collective != Collective::broadcast || me_ == 0) {
      std::memcpy(slot, from, bytes);
    }
    mine().put.store(number + 1, std::memory_order_release);
  }

  void sum(std::uint64_t piece) {
    const std::uint64_t number = base_ + piece;
    const bool everywhere = operation_.collective == Collective::all_reduce;
    if (everywhere || operation_.collective == Collective::reduce_scatter) {
      wait(&Progress::put, number + 1);
      const Share own = everywhere ? share(piece) : Share{0, length(piece)};
      const std::size_t in_slot = everywhere ? own.first : me_ * step_;
      const std::size_t in_send = first(piece) + (everywhere ? own.first : me_ * total_);
      std::vector<const std::byte*> sources(ranks_);
      for (std::size_t rank = 0; rank < ranks_; ++rank)
        sources[rank] = rank == me_ ? send_ + in_send : transport_.slot(rank, number) + in_slot;
      std::byte* const target = everywhere ? transport_.sums(number) + own.first : receive_ + first(piece);
      sum_slices(operation_.type, sources, {&target, 1}, own.count / operation_.bytes(1),
                 !everywhere && operation_.bypass);
    }
    mine().summed.store(number + 1, std::memory_order_release);
  }

  void copy(std::byte* target, const std::byte* source, std::size_t bytes) const {
    if (target != source) copy_bytes(target, source, bytes, operation_.bypass);
  }

  void take(std::uint64_t piece) {
    const std::uint64_t number = base_ + piece;
    const std::size_t at = first(piece);
    const std::size_t bytes = length(piece);
    const bool sums = operation_.collective == Collective::all_reduce;
    wait(sums ? &Progress::summed : &Progress::put, number + 1);
    switch (operation_.collective) {
      case Collective::all_reduce:
        copy(receive_ + at, transport_.sums(number), bytes);
        break;
      case Collective::reduce_scatter:
        break;
      case Collective::broadcast:
        copy(receive_ + at, me_ == 0 ? send_ + at : transport_.slot(0, number), bytes);
        break;
      case Collective::send_receive: {
        const std::size_t from = (me_ + ranks_ - 1) % ranks_;
        copy(receive_ + at, from == me_ ? send_ + at : transport_.slot(from, number), bytes);
        break;
      }
      case Collective::all_gather:
      case Collective::all_to_all:
        for (std::size_t i = 0; i < ranks_; ++i) {
          const std::size_t from = (me_ + i) % ranks_;
          const std::size_t own = at + (apart_ ? me_ * total_ : 0);
          const std::byte* const source =
              from == me_ ? send_ + own : transport_.slot(from, number) + (apart_ ? me_ * step_ : 0);
          copy(receive_ + from * total_ + at, source, bytes);
        }
    }
    mine().taken.store(number + 1, std::memory_order_release);
  }

  const NodeTransport& transport_;
  const Operation& operation_;
  const std::stop_token& closing_;
  std::uint64_t base_;
  std::size_t ranks_;
  std::size_t me_;
  const std::byte* send_;
  std::byte* receive_;
  std::size_t total_;  // bytes of the part that is worked through
  bool apart_;         // a slot holds something else for each rank
  std::size_t step_;   // bytes of a piece
};

}  // namespace

std::uint64_t take_staged_part(const NodeTransport& transport, const Operation& operation, int local,
                               std::uint64_t base, const std::stop_token& closing) {
  return Part(transport, operation, local, base, closing).run();
}

}  // namespace claimcheck::kernels::host
