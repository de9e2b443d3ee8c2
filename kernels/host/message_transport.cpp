// Ranks on several nodes: rings of messages in process order, so that each byte crosses the network between two nodes
// once. Within a node the messages go the way the world's library chooses.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/host/group_reduce.h"
#include "kernels/host/memory_loops.h"
#include "kernels/host/team.h"
#include "kernels/host/transport.h"

namespace claimcheck::kernels::host {

namespace {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

constexpr std::size_t line = 64;
constexpr std::size_t relayed_bytes = std::size_t{1}
                                      << 20;  // of a broadcast, which every rank passes on piece by piece

class MessageTransport final : public Transport {
 public:
  MessageTransport(const Layout& layout, World& world) : layout_(layout), world_(world) {
    for (std::size_t process = 0; process < layout.ranks_of.size(); ++process)
      for (int local = 0; local < layout.ranks_of[process]; ++local)
        places_.push_back({static_cast<int>(process), local});
    most_local_ = *std::max_element(layout.ranks_of.begin(), layout.ranks_of.end());
  }

  void take_part(Operation& operation, int local, const std::stop_token& closing) override;
  Facts facts() const override {
    Facts facts = {{"algorithm", "ring"}, {"transport", "MPI"}};
    for (const auto& [name, fact] : world_.facts())
      if (name == "library") facts.emplace_back("mpi", fact);
    return facts;
  }

 private:
  class Part;

  struct Place {
    int process;
    int local;
  };

  int tag(int from, int to) const { return places_[from].local * most_local_ + places_[to].local; }

  Layout layout_;
  World& world_;
  std::vector<Place> places_;  // of each rank
  int most_local_ = 1;
};

class MessageTransport::Part {
 public:
  Part(MessageTransport& transport, const Operation& operation, int local, const std::stop_token& closing)
      : transport_(transport),
        operation_(operation),
        closing_(closing),
        ranks_(operation.ranks),
        me_(operation.first_rank + local),
        send_(operation.send[static_cast<std::size_t>(local)].address),
        receive_(operation.receive[static_cast<std::size_t>(local)].address),
        total_(operation.part_bytes()) {}

  void run() {
    switch (operation_.collective) {
      case Collective::all_reduce:
        return all_reduce();
      case Collective::reduce_scatter:
        return reduce_scatter();
      case Collective::all_gather:
        copy(receive_ + part(me_), send_, total_);
        return pass_round([this](int rank) { return Bytes(receive_ + part(rank), total_); });
      case Collective::broadcast:
        return broadcast();
      case Collective::send_receive:
        return exchange(next(1), {send_, total_}, next(-1), {receive_, total_});
      case Collective::all_to_all:
        return all_to_all();
    }
  }

 private:
  int next(int steps) const { return ((me_ + steps) % ranks_ + ranks_) % ranks_; }
  std::size_t part(int rank) const { return static_cast<std::size_t>(rank) * total_; }

  void copy(std::byte* target, const std::byte* source, std::size_t bytes) const {
    if (target != source) copy_bytes(target, source, bytes, operation_.bypass);
  }

  void exchange(int to, ConstBytes out, int from, Bytes in) {
    const World::Exchange what{.to = transport_.places_[to].process,
                               .out = out,
                               .out_tag = transport_.tag(me_, to),
                               .from = transport_.places_[from].process,
                               .in = in,
                               .in_tag = transport_.tag(from, me_)};
    if (!transport_.world_.exchange(what, [this] { return operation_.given_up(closing_); }))
      throw operation_.not_coming();
  }

  // Every rank has part_of(its own) and in the end all parts: each passes on what it got last.
  template <class PartOf>
  void pass_round(const PartOf& part_of) {
    for (int step = 0; step < ranks_ - 1; ++step)
      exchange(next(1), part_of(next(-step)), next(-1), part_of(next(-step - 1)));
  }

  // The part of rank r goes round from r + 1 and arrives at r as the sum of all. `input` is this rank's own of a part.
  template <class Input>
  void sum_round(const Input& input, std::byte* result) {
    std::vector<std::byte> sum(input(next(-1)).begin(), input(next(-1)).end());
    std::vector<std::byte> arrived;
    for (int step = 1; step < ranks_; ++step) {
      const ConstBytes own = input(next(-step - 1));
      arrived.resize(own.size());
      exchange(next(1), sum, next(-1), arrived);
      sum.resize(own.size());
      const std::byte* const sources[] = {arrived.data(), own.data()};
      std::byte* const target = step + 1 == ranks_ ? result : sum.data();
      sum_slices(operation_.type, sources, {&target, 1}, own.size() / operation_.bytes(1), false);
    }
  }

  void all_reduce() {
    const auto slice = [this](int rank) { return share_of(total_, rank, ranks_, line); };
    sum_round([&](int rank) { return ConstBytes(send_ + slice(rank).first, slice(rank).count); },
              receive_ + slice(me_).first);
    pass_round([&](int rank) { return Bytes(receive_ + slice(rank).first, slice(rank).count); });
  }

  void reduce_scatter() {
    sum_round([this](int rank) { return ConstBytes(send_ + part(rank), total_); }, receive_);
  }

  void broadcast() {
    if (me_ == 0) copy(receive_, send_, total_);
    for (std::size_t at = 0; at < total_; at += relayed_bytes) {
      const Bytes piece(receive_ + at, std::min(relayed_bytes, total_ - at));
      if (me_ > 0) exchange(me_, {}, me_ - 1, piece);
      if (me_ + 1 < ranks_) exchange(me_ + 1, piece, me_, {});
    }
  }

  void all_to_all() {
    copy(receive_ + part(me_), send_ + part(me_), total_);
    for (int step = 1; step < ranks_; ++step)
      exchange(next(step), {send_ + part(next(step)), total_}, next(-step), {receive_ + part(next(-step)), total_});
  }

  MessageTransport& transport_;
  const Operation& operation_;
  const std::stop_token& closing_;
  int ranks_;
  int me_;
  const std::byte* send_;
  std::byte* receive_;
  std::size_t total_;  // bytes of `count` elements
};

void MessageTransport::take_part(Operation& operation, int local, const std::stop_token& closing) {
  Part(*this, operation, local, closing).run();
}

}  // namespace

std::unique_ptr<Transport> make_message_transport(const Layout& layout, World& world) {
  return std::make_unique<MessageTransport>(layout, world);
}

}  // namespace claimcheck::kernels::host
