// When operations take place in virtual time.
#include <algorithm>
#include <cstdio>
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

void Scheduler::time_all() {
  for (;;) {
    OperationPointer best;
    double best_start = 0;
    for (Stream* stream : busy_) {
      if (stream->queue.empty()) continue;
      const OperationPointer& head = stream->queue.front();
      if (!can_start(*head)) continue;
      const double start = earliest(*head);
      // Of several at one time those that take none come first, so that work sees what work starts beside it.
      const auto order = std::make_tuple(start, is_work(*head), head->sequence);
      if (best && order > std::make_tuple(best_start, is_work(*best), best->sequence)) continue;
      best = head;
      best_start = start;
    }
    if (!best) break;
    time(best, best_start);
  }
  std::erase_if(busy_, [](Stream* stream) {
    if (stream->queue.empty()) stream->listed = false;
    return stream->queue.empty();
  });
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
      time_meeting(*work.meeting);
      return;
    }
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
  timing_ = operation.get();
  const double seconds = work.seconds ? work.seconds(start) * device(operation->device).gpu->slowdown : 0;
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

void Scheduler::time_meeting(Meeting& meeting) {
  double start = 0;
  double slowdown = 1;
  for (const Operation* rank : meeting.arrived) {
    start = std::max(start, earliest(*rank));
    slowdown = std::max(slowdown, device(rank->device).gpu->slowdown);
  }
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
  const std::vector<Operation*> arrived = std::move(meeting.arrived);
  const double end = start + meeting.seconds * slowdown;
  for (Operation* rank : arrived) {
    const OperationPointer keep = rank->stream->queue.front();
    finish(*rank, start, end);
    rank->effect_of_all = all;
    if (all->work.footprint && (reaches_host(all->work.footprint->reads) || reaches_host(all->work.footprint->writes)))
      rank->stream->host_effects.push_back(keep);
    rank->work.meeting = nullptr;
  }
  all->start = start;
  all->end = end;
  all->timed = true;
  if (!all->work.effect || !all->work.footprint || eager())
    run_effect(*all);
  else
    deferred.add(all);
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
