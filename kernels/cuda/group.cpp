// Collectives with NCCL: the GPUs of this process, and of others where a launcher started them.
// Communicators are blocking ones. The other kind starts a thread for each group of calls, which would be measured with
// every small message; what can hang (making, aborting and freeing them) runs in a thread that is waited for.
#include <fmt/format.h>

#include <functional>
#include <future>
#include <thread>

#include "kernels/cuda/device.h"
#include "kernels/cuda/error.h"
#include "kernels/cuda/nccl_log.h"
#include "kernels/cuda/nccl_output.h"
#include "kernels/cuda/platform_facts.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

namespace {

constexpr Duration end_deadline{30};

Error mistake(std::string text) {
  return Error(
      {.outcome = Outcome::failed, .library = "claimcheck", .code = {}, .text = std::move(text), .remedy = {}});
}

Error timed_out(std::string text, bool context_dead) {
  return Error({.outcome = Outcome::timed_out,
                .library = "NCCL",
                .code = {},
                .text = std::move(text),
                .remedy = "see what NCCL_DEBUG=INFO says; NCCL_P2P_DISABLE=1 tells whether peer access is at fault",
                .context_dead = context_dead});
}

// Runs `work` in a thread of its own; false when it did not end in time: the thread is then left behind. An exception
// of `work` comes out here.
bool within(Duration deadline, std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  std::future<void> done = task.get_future();
  std::thread(std::move(task)).detach();
  if (done.wait_for(deadline) != std::future_status::ready) return false;
  done.get();
  return true;
}

// ncclGroupStart ... ncclGroupEnd, also when something between them throws.
class Grouped {
 public:
  Grouped() { check(ncclGroupStart()); }
  ~Grouped() {
    if (open_) ncclGroupEnd();
  }
  Grouped(const Grouped&) = delete;
  Grouped& operator=(const Grouped&) = delete;
  void end() {
    open_ = false;
    check(ncclGroupEnd());
  }

 private:
  bool open_ = true;
};

bool sums(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

bool exchanges(Collective collective) {
  return collective == Collective::send_receive || collective == Collective::all_to_all;
}

struct Elements {
  ncclDataType_t type = ncclInt8;
  std::size_t count = 0;
  std::size_t bytes = 0;  // of `count`
};

Elements elements_of(Collective collective, DataType type, std::size_t count) {
  const std::size_t bytes = storage_bytes(type, count);
  switch (type) {
    case DataType::fp64:
      return {ncclFloat64, count, bytes};
    case DataType::fp32:
    case DataType::tf32:
      return {ncclFloat32, count, bytes};
    case DataType::fp16:
      return {ncclFloat16, count, bytes};
    case DataType::bf16:
      return {ncclBfloat16, count, bytes};
    case DataType::int32:
      return {ncclInt32, count, bytes};
    case DataType::int8:
      return {ncclInt8, count, bytes};
    case DataType::fp4:
      if (count % 2 != 0) throw unsupported("an odd number of fp4 values does not end at a whole byte");
      break;
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
      break;
  }
  if (sums(collective))
    throw unsupported(fmt::format(
        "sums of {} between GPUs are not measured; fp64, fp32, fp16, bf16, int32 and int8 are", to_string(type)));
  return {ncclInt8, bytes, bytes};  // moved, not computed with
}

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

// One rank's part, within a group call.
void enqueue_rank(Collective collective, const void* send, void* receive, const Elements& elements, int rank, int ranks,
                  ncclComm_t communicator, cudaStream_t stream) {
  const auto& [type, count, bytes] = elements;
  const auto part = [bytes = bytes](auto* base, int index) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(base)>>, const std::byte, std::byte>;
    return static_cast<Byte*>(base) + static_cast<std::size_t>(index) * bytes;
  };
  switch (collective) {
    case Collective::all_reduce:
      return check(ncclAllReduce(send, receive, count, type, ncclSum, communicator, stream));
    case Collective::all_gather:
      return check(ncclAllGather(send, receive, count, type, communicator, stream));
    case Collective::reduce_scatter:
      return check(ncclReduceScatter(send, receive, count, type, ncclSum, communicator, stream));
    case Collective::broadcast:
      return check(ncclBroadcast(send, receive, count, type, 0, communicator, stream));
    case Collective::send_receive:
      check(ncclSend(send, count, type, (rank + 1) % ranks, communicator, stream));
      return check(ncclRecv(receive, count, type, (rank + ranks - 1) % ranks, communicator, stream));
    case Collective::all_to_all:
      for (int peer = 0; peer < ranks; ++peer) {
        check(ncclSend(part(send, peer), count, type, peer, communicator, stream));
        check(ncclRecv(part(receive, peer), count, type, peer, communicator, stream));
      }
  }
}

// The communicators of this process; made, aborted and freed all at once, each call of its own thread where one rank
// may wait for another.
class Communicators {
 public:
  Communicators(const std::vector<int>& ordinals, int first_rank, int ranks, const ncclUniqueId& id,
                Duration deadline) {
    if (ordinals.empty()) return;
    // Shared with the thread that makes them, which may outlive this object.
    const auto made = std::make_shared<std::vector<ncclComm_t>>(ordinals.size());
    const bool in_time = within(deadline, [=] {
      Grouped grouped;
      for (std::size_t i = 0; i < ordinals.size(); ++i) {
        check(cudaSetDevice(ordinals[i]));
        check(ncclCommInitRank(&(*made)[i], ranks, id, first_rank + static_cast<int>(i)));
      }
      grouped.end();
    });
    if (!in_time)
      throw timed_out(fmt::format("NCCL did not connect {} ranks within {:g} s", ranks, deadline.count()), true);
    all_ = *made;
  }
  ~Communicators() { leave(ncclCommDestroy); }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  void abort() { leave(ncclCommAbort); }
  bool gone() const { return all_.empty(); }
  ncclComm_t operator[](std::size_t index) const { return all_[index]; }

  // The first error that NCCL's own threads met.
  ncclResult_t error() const {
    for (const ncclComm_t communicator : all_) {
      ncclResult_t result = ncclSuccess;
      if (ncclCommGetAsyncError(communicator, &result) != ncclSuccess) continue;
      if (result != ncclSuccess && result != ncclInProgress) return result;
    }
    return ncclSuccess;
  }

 private:
  void leave(ncclResult_t (*call)(ncclComm_t)) {
    if (all_.empty()) return;
    const auto leave_all = [call, all = std::move(all_)] {
      std::vector<std::jthread> threads;
      threads.reserve(all.size());
      for (const ncclComm_t communicator : all) threads.emplace_back([call, communicator] { call(communicator); });
    };
    all_.clear();
    try {
      within(end_deadline, leave_all);
    } catch (...) {  // no thread could be had: the process ends soon
    }
  }

  std::vector<ncclComm_t> all_;
};

// Ranks of all processes, and the first of this one.
struct Ranks {
  int all = 0;
  int first = 0;

  Ranks(std::size_t local, World& world) {
    const std::vector<std::string> counts = world.gather(std::to_string(local));
    for (std::size_t process = 0; process < counts.size(); ++process) {
      if (static_cast<int>(process) == world.process()) first = all;
      all += std::stoi(counts[process]);
    }
  }
};

ncclUniqueId shared_id(World& world) {
  ncclUniqueId id{};
  if (world.process() == 0) check(ncclGetUniqueId(&id));
  world.broadcast(std::as_writable_bytes(std::span(&id, 1)));
  return id;
}

std::vector<int> ordinals_of(std::span<Device* const> local) {
  std::vector<int> ordinals;
  for (const Device* device : local) ordinals.push_back(gpu_of(*device).ordinal);
  return ordinals;
}

class NcclGroup final : public Group {
 public:
  NcclGroup(std::span<Device* const> local, World& world)
      : output_position_(nccl_output_size()),
        local_(local.size()),
        ranks_(local.size(), world),
        communicators_(ordinals_of(local), ranks_.first, ranks_.all, shared_id(world),
                       local.empty() ? Duration(0) : gpu_of(*local[0]).deadline) {}

  int size() const override { return ranks_.all; }
  int first_rank() const override { return ranks_.first; }

  void enqueue(Collective collective, std::span<const Buffers> buffers, std::size_t count, DataType type,
               std::span<Stream* const> streams) override {
    if (local_ > 0 && communicators_.gone()) throw timed_out("the group was given up; make a new one", false);
    if (buffers.size() != local_ || streams.size() != local_)
      throw mistake(fmt::format("{} buffers and {} streams were given to a group of {} local ranks", buffers.size(),
                                streams.size(), local_));
    if (local_ == 0) return;
    const Elements elements = elements_of(collective, type, count);
    for (std::size_t i = 0; i < local_; ++i) check_buffers(collective, buffers[i], elements, rank_of(i));
    point_to_point_ = exchanges(collective);
    try {
      enqueue_all(collective, buffers, elements, streams);
    } catch (...) {  // ranks that have begun would wait for the others for ever
      communicators_.abort();
      throw;
    }
  }

  void wait(std::span<Stream* const> streams, Duration deadline) override {
    const auto start = std::chrono::steady_clock::now();
    const auto waited = [&] { return Duration(std::chrono::steady_clock::now() - start); };
    for (std::size_t i = 0; i < streams.size(); ++i) {
      while (!cuda(*streams[i]).done()) {
        if (const ncclResult_t error = communicators_.error(); error != ncclSuccess) {
          communicators_.abort();
          check(error);
        }
        if (waited() > deadline) {
          communicators_.abort();
          throw timed_out(fmt::format("rank {} of {} did not end its collective within {:g} s; the group is given up",
                                      rank_of(i), ranks_.all, deadline.count()),
                          false);
        }
        // Short operations are watched closely, long ones cost no core.
        if (waited() > Duration(2e-3)) std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    if (nccl_output_size() > output_position_ + (std::size_t{4} << 20)) read_output();
  }

  Facts facts() const override {
    read_output();
    Facts facts = {{"library", "NCCL"}, {"version", nccl_version()}, {"ranks", static_cast<std::int64_t>(ranks_.all)}};
    if (!nccl_output_is_ours()) facts.emplace_back("output", "NCCL_DEBUG is the user's: not read");
    const Facts used = log_.facts();
    facts.insert(facts.end(), used.begin(), used.end());
    // NCCL names an algorithm and a protocol for collectives only: what is there is of an earlier one.
    if (point_to_point_)
      for (auto& [name, fact] : facts) {
        if (name == "algorithm") fact.emplace<std::string>("point_to_point");
        if (name == "protocol" || name == "algorithm_bytes") fact.emplace<std::monostate>();
      }
    return facts;
  }

 private:
  void enqueue_all(Collective collective, std::span<const Buffers> buffers, const Elements& elements,
                   std::span<Stream* const> streams) {
    Grouped grouped;
    for (std::size_t i = 0; i < local_; ++i) {
      // Only the root of a broadcast needs something to send.
      const Slice& send = buffers[i].send.buffer == nullptr ? buffers[i].receive : buffers[i].send;
      enqueue_rank(collective, send.address(), buffers[i].receive.address(), elements, rank_of(i), ranks_.all,
                   communicators_[i], cuda(*streams[i]).handle());
    }
    grouped.end();
  }

  int rank_of(std::size_t local) const { return ranks_.first + static_cast<int>(local); }

  void read_output() const { log_.read(read_nccl_output(output_position_)); }

  void check_buffers(Collective collective, const Buffers& buffers, const Elements& elements, int rank) const {
    const Multiples times = multiples_of(collective, static_cast<std::size_t>(ranks_.all));
    const bool sends = collective != Collective::broadcast || rank == 0;
    const std::size_t to_send = sends ? times.send * elements.bytes : 0;
    const std::size_t to_receive = times.receive * elements.bytes;
    if (buffers.send.size_bytes < to_send || buffers.receive.size_bytes < to_receive)
      throw mistake(fmt::format("{} among {} ranks needs {} bytes to send and {} to receive; rank {} has {} and {}",
                                to_string(collective), ranks_.all, to_send, to_receive, rank, buffers.send.size_bytes,
                                buffers.receive.size_bytes));
    if (exchanges(collective) && ranks_.all > 1 && buffers.send.address() == buffers.receive.address())
      throw unsupported(fmt::format(
          "{} cannot work in place: what is received would overwrite what is still to be sent", to_string(collective)));
  }

  mutable NcclLog log_;
  mutable std::size_t output_position_;  // first: what NCCL says while it connects is read, too
  std::size_t local_;
  Ranks ranks_;
  Communicators communicators_;
  bool point_to_point_ = false;
};

}  // namespace

std::unique_ptr<Group> make_group(std::span<Device* const> local, World& world) {
  if (local.empty() && world.processes() == 1) throw mistake("a group needs at least one rank");
  return std::make_unique<NcclGroup>(local, world);
}

}  // namespace claimcheck::kernels::cuda
