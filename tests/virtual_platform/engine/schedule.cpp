// When operations take place in virtual time.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>
#include <tuple>

#include "tests/virtual_platform/engine/clock.h"
#include "tests/virtual_platform/engine/engine.h"

namespace virtual_platform {

namespace {

constexpr int illegal_address = 700;      // cudaErrorIllegalAddress
constexpr int launch_failure = 719;       // cudaErrorLaunchFailure
constexpr int uncorrectable_error = 214;  // cudaErrorECCUncorrectable
constexpr int device_lost = 999;          // cudaErrorUnknown: the driver finds no better word for a GPU off the bus

bool is_work(const Operation& operation) { return operation.work.seconds || operation.work.meeting; }

// GPU memory that was freed, or never was.
bool is_valid(const std::vector<Range>& ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [](const Range& range) {
    if (range.empty() || accessible(range.begin) == range.begin) return true;
    const Allocation* allocation = find_allocation(range.begin);
    return allocation != nullptr && range.within(allocation->whole());
  });
}

bool reaches_host(const std::vector<Range>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [](const Range& range) {
    const Allocation* allocation = find_allocation(range.begin);
    return allocation == nullptr || allocation->device == host;
  });
}

// Between -1 and 1, by the number of the operation: the 32-bit finaliser of MurmurHash3, public domain.
double noise(std::uint32_t number) {
  number ^= number >> 16;
  number *= 0x85ebca6bU;
  number ^= number >> 13;
  number *= 0xc2b2ae35U;
  number ^= number >> 16;
  return 2.0 * number / 4294967295.0 - 1;
}

}  // namespace

Scheduler& scheduler() {
  static Scheduler& one = *new Scheduler;
  return one;
}

void Scheduler::add(Stream& stream, OperationPointer operation) {
  operation->sequence = ++sequence_;
  operation->stream = &stream;
  operation->device = stream.device;
  operation->enqueued = host_now();
  operation->after = std::move(stream.next_after);
  stream.next_after.clear();
  for (const OperationPointer& other : operation->after)
    if (other->stream != &stream) stream.waited_for.emplace_back(operation->sequence, other);
  stream.last = operation;
  stream.queue.push_back(std::move(operation));
  if (stream.listed) return;
  stream.listed = true;
  busy_.push_back(&stream);
}

// The operation that starts first, of those that can; with one that has told other processes of itself before all.
OperationPointer Scheduler::next(double& start) {
  OperationPointer best;
  std::tuple<bool, double, bool, std::uint64_t> best_order;
  for (Stream* stream : busy_) {
    if (stream->queue.empty()) continue;
    const OperationPointer& head = stream->queue.front();
    if (is_held(*head) || !can_start(*head)) continue;
    const bool told = head->work.meeting && head->work.meeting->asked_elsewhere;
    // Of several at one time those that take none come first, so that work sees what work starts beside it.
    const auto order = std::make_tuple(!told, earliest(*head), is_work(*head), head->sequence);
    if (best && order > best_order) continue;
    best = head;
    best_order = order;
  }
  start = std::get<1>(best_order);
  return best;
}

void Scheduler::time_all() {
  waiting_.clear();
  for (;;) {
    double start = 0;
    const OperationPointer best = next(start);
    if (!best) break;
    time(best, start);
  }
  std::erase_if(busy_, [](Stream* stream) {
    if (stream->queue.empty()) stream->listed = false;
    return stream->queue.empty();
  });
  // Who waits for them asks again at once; they may need this core.
  if (!waiting_.empty()) std::this_thread::yield();
}

bool Scheduler::is_held(const Operation& operation) const {
  for (const std::shared_ptr<Meeting>& meeting : waiting_) {
    if (operation.work.meeting == meeting) return true;
    for (const Operation* rank : meeting->arrived)
      for (const Claim& mine : operation.work.engines)
        for (const Claim& theirs : rank->work.engines)
          if (mine.device == theirs.device && mine.engine == theirs.engine) return true;
  }
  return false;
}

// Whether a fault keeps it from taking place.
bool Scheduler::suffer(Operation& operation) {
  if (!operation.fault_asked && !operation.work.kind.empty()) {
    operation.fault_asked = true;
    operation.fault = next_fault(operation.work.kind, operation.work.name, device(operation.device).machine_index);
    if (operation.fault == nullptr) return false;
    const std::string& kind = operation.fault->kind;
    int& error = device(operation.device).error;
    if (kind == "hang") operation.hung = true;
    if (kind == "lost") error = device_lost;
    if (kind == "ecc") error = uncorrectable_error;
    if (kind == "error") error = launch_failure;
    if (operation.fault->stays && error != 0) {
      std::ofstream(gone_file(device(operation.device).machine_index)) << error << '\n';
    }
  }
  return operation.hung;
}

bool Scheduler::can_start(Operation& operation) {
  for (const OperationPointer& other : operation.after)
    if (!other->timed) return false;
  if (device(operation.device).error != 0) return true;
  if (operation.work.ready) {
    // A host function may look at what the work before it left.
    observe(*operation.stream, operation.sequence - 1);
    if (!operation.work.ready()) return false;
  }
  if (suffer(operation)) return operation.work.meeting && operation.work.meeting->aborted;
  if (operation.work.meeting && device(operation.device).error == 0) return meeting_can_start(operation);
  return true;
}

bool Scheduler::meeting_can_start(Operation& operation) {
  Meeting& meeting = *operation.work.meeting;
  if (meeting.aborted) return true;
  if (!operation.at_meeting) {
    operation.at_meeting = true;
    meeting.arrived.push_back(&operation);
  }
  return !meeting.hung && static_cast<int>(meeting.arrived.size()) == meeting.expected;
}

double Scheduler::earliest(const Operation& operation) const {
  const Times& times = spec().times;
  const Stream& stream = *operation.stream;
  double start = operation.enqueued + times.launch_latency_us * 1e-6;
  if (operation.work.ready) start = std::max(start, latest_host_time() + times.launch_latency_us * 1e-6);
  const bool follows = stream.last_was_work && is_work(operation);
  start = std::max(start, stream.tail + (follows ? times.gap_us * 1e-6 : 0));
  for (const OperationPointer& other : operation.after) start = std::max(start, other->end);
  for (const Claim& claim : operation.work.engines)
    start = std::max(start, device(claim.device).free_at[static_cast<std::size_t>(claim.engine)]);
  return start;
}

void Scheduler::finish(Operation& operation, double start, double end) {
  Stream& stream = *operation.stream;
  operation.start = start;
  operation.end = end;
  operation.timed = true;
  operation.after.clear();
  operation.work.ready = nullptr;
  operation.work.seconds = nullptr;
  for (const Claim& claim : operation.work.engines) {
    double& free_at = device(claim.device).free_at[static_cast<std::size_t>(claim.engine)];
    free_at = std::max(free_at, end);
  }
  stream.last_was_work = operation.work.kind.empty() ? stream.last_was_work : true;
  stream.tail = end;
  stream.queue.pop_front();
}

// The effect happens now, or when somebody looks.
void Scheduler::settle_effect(const OperationPointer& operation) {
  if (!operation->work.effect || !operation->work.footprint) {
    run_effect(*operation);
    return;
  }
  if (eager()) {
    run_effect(*operation);
    return;
  }
  const Footprint& footprint = *operation->work.footprint;
  if (reaches_host(footprint.reads) || reaches_host(footprint.writes))
    operation->stream->host_effects.push_back(operation);
  deferred.add(operation);
}

void Scheduler::time(const OperationPointer& operation, double start) {
  Work& work = operation->work;
  int& error = device(operation->device).error;
  const bool dead = error != 0;
  if (work.meeting) {
    if (!dead && !work.meeting->aborted) {
      Elsewhere::Start agreed;
      if (!waits_for_others(*operation, agreed)) time_meeting(*work.meeting, agreed);
      return;
    }
    // Of a lost GPU: the others wait for it in vain.
    std::erase(work.meeting->arrived, operation.get());
    work.meeting = nullptr;
  }
  if (!dead && work.discover) {
    work.discover(work);
    work.discover = nullptr;
  }
  if (!dead && work.footprint && !(is_valid(work.footprint->reads) && is_valid(work.footprint->writes))) {
    std::fprintf(stderr, "virtual platform: %.*s uses memory of a GPU that was freed or is too small\n",
                 static_cast<int>(work.name.size()), work.name.data());
    error = illegal_address;
  }
  if (error != 0) {
    work.effect = nullptr;
    finish(*operation, start, start);
    return;
  }
  if (work.footprint) note_writes(work.footprint->writes);
  timing_ = operation.get();
  const Gpu& gpu = *device(operation->device).gpu;
  const bool slow = operation->fault != nullptr && operation->fault->kind == "slow";
  const double times = gpu.slowdown * (slow ? operation->fault->times : 1) * (1 + gpu.jitter * noise(timed_++));
  const double seconds = work.seconds ? work.seconds(start) * times : 0;
  timing_ = nullptr;
  for (const Flow& flow : work.flows) {
    double& until = busy_until(flow);
    until = std::max(until, start + seconds);
  }
  finish(*operation, start, start + seconds);
  settle_effect(operation);
}

double& Scheduler::busy_until(const Flow& flow) {
  const auto width = static_cast<std::size_t>(device_count()) + 1;
  if (flows_.empty()) flows_.resize(width * width);
  return flows_[static_cast<std::size_t>(flow.from + 1) * width + static_cast<std::size_t>(flow.to + 1)];
}

bool Scheduler::at_work(const Flow& flow, double start) {
  if (busy_until(flow) > start) return true;
  for (Stream* stream : busy_) {
    if (stream->queue.empty()) continue;
    Operation& head = *stream->queue.front();
    const auto& flows = head.work.flows;
    const bool has = std::any_of(flows.begin(), flows.end(),
                                 [&](const Flow& one) { return one.from == flow.from && one.to == flow.to; });
    if (has && &head != timing_ && can_start(head) && earliest(head) <= start + 1e-9) return true;
  }
  return false;
}

bool Scheduler::waits_for_others(Operation& operation, Elsewhere::Start& start) {
  Meeting& meeting = *operation.work.meeting;
  for (const Operation* rank : meeting.arrived) {
    start.time = std::max(start.time, earliest(*rank));
    start.enqueued = std::max(start.enqueued, rank->enqueued);
    start.slowdown = std::max(start.slowdown, device(rank->device).gpu->slowdown);
  }
  if (!meeting.elsewhere) return false;
  meeting.asked_elsewhere = true;
  if (meeting.elsewhere->arrived(meeting, start)) return false;
  waiting_.push_back(operation.work.meeting);
  return true;
}

void Scheduler::time_meeting(Meeting& meeting, const Elsewhere::Start& agreed) {
  const auto all = std::make_shared<Operation>();
  all->stream = meeting.arrived.front()->stream;
  all->device = meeting.arrived.front()->device;
  all->work.name = meeting.arrived.front()->work.name;
  all->work.footprint = meeting.footprint;
  all->work.effect = std::move(meeting.effect);
  all->work.identity = meeting.identity;
  for (const Operation* rank : meeting.arrived)
    if (rank->fault != nullptr) all->fault = rank->fault;
  // Popping a rank's operation may end its life, and the meeting's with it.
  const std::shared_ptr<Meeting> keep_meeting = meeting.arrived.front()->work.meeting;
  const std::vector<Operation*> arrived = std::move(meeting.arrived);
  const double end = agreed.time + meeting.seconds * agreed.slowdown;
  for (Operation* rank : arrived) {
    const OperationPointer keep = rank->stream->queue.front();
    finish(*rank, agreed.time, end);
    rank->effect_of_all = all;
    if (all->work.footprint && (reaches_host(all->work.footprint->reads) || reaches_host(all->work.footprint->writes)))
      rank->stream->host_effects.push_back(keep);
    rank->work.meeting = nullptr;
  }
  all->start = agreed.time;
  all->end = end;
  all->timed = true;
  settle_meeting(meeting, all);
}

// With ranks elsewhere the effect cannot come later: the others' data are here only now.
void Scheduler::settle_meeting(Meeting& meeting, const OperationPointer& all) {
  if (meeting.elsewhere) {
    if (all->work.effect) deferred.run_for(all->work.footprint->reads, all->work.footprint->writes);
    const bool faulty = all->fault != nullptr;
    run_effect(*all);
    if (faulty) note_writes(all->work.footprint->writes);
    meeting.elsewhere->done();
    return;
  }
  if (all->work.footprint) note_writes(all->work.footprint->writes);
  if (!all->work.effect || !all->work.footprint || eager())
    run_effect(*all);
  else
    deferred.add(all);
}

void Scheduler::note_writes(std::span<const Range> ranges) {
  if (watches_.empty()) return;
  std::erase_if(watches_, [&](const std::weak_ptr<WriteWatch>& one) {
    const std::shared_ptr<WriteWatch> watch = one.lock();
    if (watch) watch->written = watch->written || overlap(watch->ranges, ranges);
    return !watch;
  });
}

void Scheduler::observe(Stream& stream, std::uint64_t until) {
  std::vector<OperationPointer> effects;
  std::vector<OperationPointer> others;
  std::erase_if(stream.host_effects, [&](const OperationPointer& one) {
    if (one->sequence > until) return false;
    effects.push_back(one->effect_of_all ? one->effect_of_all : one);
    return true;
  });
  std::erase_if(stream.waited_for, [&](const auto& one) {
    if (one.first > until) return false;
    others.push_back(one.second);
    return true;
  });
  for (const OperationPointer& other : others) observe(*other->stream, other->sequence);
  for (const OperationPointer& effect : effects) deferred.run(effect);
}

}  // namespace virtual_platform
