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

  Deferred deferred;
  std::condition_variable_any changed;

 private:
  bool can_start(Operation& operation);
  bool meeting_can_start(Operation& operation);
  double earliest(const Operation& operation) const;
  void time(const OperationPointer& operation, double start);
  void time_meeting(Meeting& meeting);
  void finish(Operation& operation, double start, double end);
  void settle_effect(const OperationPointer& operation);
  bool suffer(Operation& operation);
  double& busy_until(const Flow& flow);

  std::vector<Stream*> busy_;
  std::uint64_t sequence_ = 0;
  std::vector<double> flows_;  // until when each is at work
  const Operation* timing_ = nullptr;
};

Scheduler& scheduler();

}  // namespace virtual_platform
