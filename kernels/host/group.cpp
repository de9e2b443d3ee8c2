// One direct algorithm: a rank waits until all have arrived, does its part straight from and to the buffers of all
// others, and waits until all are done. Reductions: each rank sums its slice of all ranks and writes it where it
// belongs.
#include "kernels/host/group.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <vector>

#include "kernels/host/buffer.h"
#include "kernels/host/device.h"
#include "kernels/host/group_reduce.h"
#include "kernels/host/memory_loops.h"
#include "kernels/host/stream.h"
#include "kernels/host/team.h"

namespace claimcheck::kernels::host {

namespace {

Error timed_out(std::string text) {
  return Error({.outcome = Outcome::timed_out,
                .library = "claimcheck",
                .code = {},
                .text = std::move(text),
                .remedy = "see whether the machine is busy with something else, or allow a longer deadline"});
}

Error mistake(std::string text) {
  return Error(
      {.outcome = Outcome::failed, .library = "claimcheck", .code = {}, .text = std::move(text), .remedy = {}});
}

using Aborted = std::shared_ptr<std::atomic<bool>>;

// One collective under way: the buffers of all ranks, and where the ranks are, in cache lines of their own.
struct Operation {  // NOLINT(clang-analyzer-optin.performance.Padding)
  Collective collective{};
  DataType type{};
  std::size_t count = 0;  // elements, as Group::enqueue defines it
  bool bypass = false;    // what is received does not fit the caches
  std::vector<Region> send;
  std::vector<Region> receive;
  Aborted aborted;
  alignas(64) std::atomic<int> arrived{0};
  alignas(64) std::atomic<int> done{0};

  int ranks() const { return static_cast<int>(send.size()); }
  std::size_t bytes(std::size_t elements) const { return storage_bytes(type, elements); }

  void meet(std::atomic<int>& counter, const std::stop_token& closing) const {
    counter.fetch_add(1, std::memory_order_acq_rel);
    for (Patience patience; counter.load(std::memory_order_acquire) < ranks(); patience.pause())
      if (aborted->load(std::memory_order_relaxed) || closing.stop_requested())
        throw timed_out(fmt::format("{} was given up because a rank did not come", to_string(collective)));
  }
};

// Slices of an all-reduce start at cache lines.
Share slice_of(const Operation& operation, int rank) {
  const std::size_t line = 64 / storage_bytes(operation.type, 1);
  return share_of(operation.count, rank, operation.ranks(), line);
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
  const std::size_t bytes = operation.bytes(operation.count);
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

// How many times `count` elements the two buffers hold.
struct Multiples {
  std::size_t send = 1;
  std::size_t receive = 1;
};

Multiples multiples_of(Collective collective, std::size_t ranks) {
  switch (collective) {
    case Collective::all_gather:
      return {1, ranks};
    case Collective::reduce_scatter:
      return {ranks, 1};
    case Collective::all_to_all:
      return {ranks, ranks};
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::send_receive:
      return {1, 1};
  }
  return {1, 1};
}

void check_type(Collective collective, DataType type, std::size_t count) {
  const bool sums = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
  if (sums && !can_sum(type))
    throw unsupported(fmt::format(
        "sums of {} between cores are not supported; fp64, fp32, fp16, bf16, int32 and int8 are", to_string(type)));
  if (type == DataType::fp4 && count % 2 != 0)
    throw unsupported("an odd number of fp4 values does not end at a whole byte");
}

class SharedMemoryGroup final : public Group {
 public:
  explicit SharedMemoryGroup(std::vector<Device*> local) : local_(std::move(local)) {}
  ~SharedMemoryGroup() override { *aborted_ = true; }

  int size() const override { return static_cast<int>(local_.size()); }
  int first_rank() const override { return 0; }

  void enqueue(Collective collective, std::span<const Buffers> buffers, std::size_t count, DataType type,
               std::span<Stream* const> streams) override {
    if (*aborted_) throw timed_out("the group was given up after a rank did not come; make a new one");
    const std::size_t ranks = local_.size();
    if (buffers.size() != ranks || streams.size() != ranks)
      throw mistake(fmt::format("{} buffers and {} streams were given to a group of {} ranks", buffers.size(),
                                streams.size(), ranks));
    check_type(collective, type, count);
    auto operation = std::make_shared<Operation>();
    operation->collective = collective;
    operation->type = type;
    operation->count = count;
    operation->aborted = aborted_;
    for (std::size_t rank = 0; rank < ranks; ++rank) add_buffers(*operation, buffers[rank], rank);
    const std::size_t received = ranks * multiples_of(collective, ranks).receive * operation->bytes(count);
    operation->bypass = static_cast<const HostDevice*>(local_[0])->past_caches(received);
    for (int rank = 0; rank < size(); ++rank) {
      const auto me = static_cast<std::size_t>(rank);
      const int core = static_cast<const HostDevice*>(local_[me])->first_core();
      host(*streams[me]).enqueue([operation, rank, core](const std::stop_token& closing) {
        pin_this_thread(core);
        operation->meet(operation->arrived, closing);
        do_part(*operation, rank);
        operation->meet(operation->done, closing);
      });
    }
  }

  void wait(std::span<Stream* const> streams, Duration deadline) override {
    const Clock::time_point end = time_after(deadline);
    for (std::size_t rank = 0; rank < streams.size(); ++rank) {
      if (host(*streams[rank]).wait_until(end)) continue;
      *aborted_ = true;
      throw timed_out(fmt::format("rank {} of {} did not end its collective within {:g} s; the group is given up", rank,
                                  size(), deadline.count()));
    }
  }

  Facts facts() const override {
    return {{"library", "claimcheck"},
            {"algorithm", "direct"},
            {"transport", "shared memory"},
            {"ranks", static_cast<std::int64_t>(local_.size())}};
  }

 private:
  void add_buffers(Operation& operation, const Buffers& buffers, std::size_t rank) const {
    const std::size_t ranks = local_.size();
    const Multiples times = multiples_of(operation.collective, ranks);
    const std::size_t bytes = operation.bytes(operation.count);
    // Only the root of a broadcast sends.
    const bool sends = operation.collective != Collective::broadcast || rank == 0;
    Region receive = region_of(buffers.receive, "the receive slice");
    Region send = sends ? region_of(buffers.send, "the send slice") : receive;
    if ((sends && send.size_bytes < times.send * bytes) || receive.size_bytes < times.receive * bytes)
      throw mistake(
          fmt::format("{} of {} {} values among {} ranks needs {} bytes to send and {} to receive; rank {} has "
                      "{} and {}",
                      to_string(operation.collective), operation.count, to_string(operation.type), ranks,
                      times.send * bytes, times.receive * bytes, rank, send.size_bytes, receive.size_bytes));
    const bool exchanges =
        operation.collective == Collective::send_receive || operation.collective == Collective::all_to_all;
    if (exchanges && ranks > 1 && send.address == receive.address)
      throw unsupported(
          fmt::format("{} cannot work in place: what is received would overwrite what is still to be sent",
                      to_string(operation.collective)));
    operation.send.push_back(std::move(send));
    operation.receive.push_back(std::move(receive));
  }

  std::vector<Device*> local_;
  Aborted aborted_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

std::unique_ptr<Group> make_shared_memory_group(std::span<Device* const> local, World& world) {
  if (world.processes() > 1)
    throw unsupported(
        fmt::format("collectives between CPU cores work within one process, and this run has {}", world.processes()),
        "start it without a launcher");
  if (local.empty()) throw mistake("a group needs at least one rank");
  return std::make_unique<SharedMemoryGroup>(std::vector<Device*>(local.begin(), local.end()));
}

}  // namespace claimcheck::kernels::host
