// The engine's state, for the engine only; engine_mutex() is held around every use.
#pragma once

#include <condition_variable>
#include <deque>
#include <unordered_set>

#include "tests/virtual_platform/engine/deferred.h"

namespace virtual_platform {

class Scheduler {
 public:
  // Puts every operation that can start in its place in virtual time, the earliest first.
  void time_all();
  void add(Stream& stream, OperationPointer operation);
  // What the stream did up to `until` is now known to the host: effects on host memory are computed.
  void observe(Stream& stream, std::uint64_t until);

  // Whether data flows there at that time, or starts to.
  bool at_work(const Flow& flow, double start);

  void watch(const std::shared_ptr<WriteWatch>& watch) { watches_.push_back(watch); }
  void note_writes(std::span<const Range> ranges);

  Deferred deferred;
  std::condition_variable_any changed;

 private:
  bool can_start(Operation& operation);
  bool meeting_can_start(Operation& operation);
  double earliest(const Operation& operation) const;
  void time(const OperationPointer& operation, double start);
  OperationPointer next(double& start);
  bool waits_for_others(Operation& operation, Elsewhere::Start& start);
  bool is_held(const Operation& operation) const;
  void time_meeting(Meeting& meeting, const Elsewhere::Start& agreed);
  void settle_meeting(Meeting& meeting, const OperationPointer& all);
  void finish(Operation& operation, double start, double end);
  void settle_effect(const OperationPointer& operation);
  bool suffer(Operation& operation);
  double& busy_until(const Flow& flow);

  std::vector<Stream*> busy_;
  std::uint64_t sequence_ = 0;
  std::vector<double> flows_;  // until when each is at work
  // Meetings that wait for other processes: what would use their GPUs' units later than they could start waits with
  // them, so that what comes first does not depend on when this process looks.
  std::vector<std::shared_ptr<Meeting>> waiting_;
  std::vector<std::weak_ptr<WriteWatch>> watches_;
  const Operation* timing_ = nullptr;
  std::uint32_t timed_ = 0;  // operations that were given a duration
};

Scheduler& scheduler();

}  // namespace virtual_platform
