// The inside of streams and operations, for the engine only.
#pragma once

#include <deque>

#include "tests/virtual_platform/engine/stream.h"

namespace virtual_platform {

struct Operation {
  std::uint64_t sequence = 0;  // order of enqueueing, over all streams
  Stream* stream = nullptr;
  int device = 0;
  Work work;
  std::vector<OperationPointer> after;
  double enqueued = 0;  // virtual time of the host
  double start = 0;
  double end = 0;
  bool timed = false;
  bool hung = false;                      // by a fault: never starts
  bool at_meeting = false;                // counted in its Meeting
  const OperationFault* fault = nullptr;  // that hits it
  bool fault_asked = false;
  std::shared_ptr<Operation> effect_of_all;  // of a meeting: carries the effect
};

struct Stream {
  int device = 0;
  bool destroyed = false;
  bool listed = false;  // among the streams with work
  bool last_was_work = false;
  double tail = 0;
  std::deque<OperationPointer> queue;
  OperationPointer last;
  std::vector<OperationPointer> next_after;  // what the next operation has to wait for
  // Since the host last waited: operations whose effect reaches host memory, and those of other streams waited for.
  std::vector<OperationPointer> host_effects;
  std::vector<std::pair<std::uint64_t, OperationPointer>> waited_for;  // by sequence of who waits
};

}  // namespace virtual_platform
