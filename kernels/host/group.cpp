#include "kernels/host/group.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <utility>

#include "kernels/host/device.h"
#include "kernels/host/stream.h"
#include "kernels/host/team.h"
#include "kernels/host/transport.h"

namespace claimcheck::kernels::host {

int Layout::ranks() const { return std::accumulate(ranks_of.begin(), ranks_of.end(), 0); }

int Layout::first_rank_of(int which) const { return std::accumulate(ranks_of.begin(), ranks_of.begin() + which, 0); }

namespace {

class HostGroup final : public Group {
 public:
  HostGroup(std::vector<Device*> local, Layout layout, std::unique_ptr<Transport> transport, int nodes)
      : local_(std::move(local)), layout_(std::move(layout)), transport_(std::move(transport)), nodes_(nodes) {}
  ~HostGroup() override { *aborted_ = true; }

  int size() const override { return layout_.ranks(); }
  int first_rank() const override { return layout_.first_rank(); }

  void enqueue(Collective collective, std::span<const Buffers> buffers, std::size_t count, DataType type,
               std::span<Stream* const> streams) override {
    if (*aborted_) throw rank_timed_out("the group was given up after a rank did not come; make a new one");
    const std::size_t local = local_.size();
    if (buffers.size() != local || streams.size() != local)
      throw mistake(fmt::format("{} buffers and {} streams were given to a group of {} ranks", buffers.size(),
                                streams.size(), local));
    if (local == 0) return;
    check_type(collective, type, count);
    const auto operation = std::make_shared<Operation>();
    operation->collective = collective;
    operation->type = type;
    operation->count = count;
    operation->ranks = size();
    operation->first_rank = first_rank();
    operation->aborted = aborted_;
    for (std::size_t i = 0; i < local; ++i) add_buffers(*operation, buffers[i], first_rank() + static_cast<int>(i));
    const auto ranks = static_cast<std::size_t>(size());
    const std::size_t received = local * multiples_of(collective, ranks).receive * operation->part_bytes();
    operation->bypass = static_cast<const HostDevice*>(local_[0])->past_caches(received);
    for (std::size_t i = 0; i < local; ++i) {
      const int core = static_cast<const HostDevice*>(local_[i])->first_core();
      host(*streams[i])
          .enqueue(
              [operation, transport = transport_, rank = static_cast<int>(i), core](const std::stop_token& closing) {
                pin_this_thread(core);
                transport->take_part(*operation, rank, closing);
              });
    }
  }

  void wait(std::span<Stream* const> streams, Duration deadline) override {
    const Clock::time_point end = time_after(deadline);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (host(*streams[i]).wait_until(end)) continue;
      give_up();
      throw rank_timed_out(fmt::format("rank {} of {} did not end its collective within {:g} s; the group is given up",
                                       first_rank() + static_cast<int>(i), size(), deadline.count()));
    }
  }

  Facts facts() const override {
    Facts facts = {{"library", "claimcheck"}};
    const Facts used = transport_->facts();
    facts.insert(facts.end(), used.begin(), used.end());
    facts.emplace_back("ranks", static_cast<std::int64_t>(size()));
    if (layout_.ranks_of.size() > 1) {
      facts.emplace_back("processes", static_cast<std::int64_t>(layout_.ranks_of.size()));
      facts.emplace_back("nodes", static_cast<std::int64_t>(nodes_));
    }
    return facts;
  }

 private:
  void give_up() {
    *aborted_ = true;
    transport_->abort();
  }

  std::vector<Device*> local_;
  Layout layout_;
  std::shared_ptr<Transport> transport_;  // shared with work in flight
  int nodes_;
  Aborted aborted_ = std::make_shared<std::atomic<bool>>(false);
};

Layout layout_of(std::size_t local, World& world) {
  Layout layout;
  layout.process = world.process();
  for (const std::string& text : world.gather(std::to_string(local))) {
    int ranks = 0;
    std::from_chars(text.data(), text.data() + text.size(), ranks);
    layout.ranks_of.push_back(ranks);
  }
  if (layout.ranks() == 0) throw mistake("a group needs at least one rank");
  return layout;
}

}  // namespace

std::unique_ptr<Group> make_group(std::span<Device* const> local, World& world) {
  Layout layout = layout_of(local.size(), world);
  std::unique_ptr<Transport> transport = world.processes() == 1 ? make_thread_transport()
                                         : world.nodes() == 1   ? make_node_transport(layout, world)
                                                                : make_message_transport(layout, world);
  return std::make_unique<HostGroup>(std::vector<Device*>(local.begin(), local.end()), std::move(layout),
                                     std::move(transport), world.nodes());
}

}  // namespace claimcheck::kernels::host
