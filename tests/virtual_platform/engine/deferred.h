// Effects of operations that took place in virtual time and were not computed yet, in order. They are computed when
// somebody looks at what they wrote, and never when it is written anew before that.
#pragma once

#include <list>
#include <span>

#include "tests/virtual_platform/engine/operation.h"

namespace virtual_platform {

class Deferred {
 public:
  void add(OperationPointer operation);
  // Computes this effect, and what it depends on.
  void run(const OperationPointer& operation);
  // Computes what has to be before somebody reads `reads` and writes `writes`.
  void run_for(std::span<const Range> reads, std::span<const Range> writes);
  // The memory goes away: what only wrote there is left out, what read there is computed.
  void forget(const Range& freed);

 private:
  using List = std::list<OperationPointer>;
  void run_needed(const Operation* wanted, std::vector<Range> reads, std::vector<Range> writes);
  void leave_out_dead();

  List list_;
};

void run_effect(Operation& operation);  // and the bit a fault flips
bool overlap(std::span<const Range> some, std::span<const Range> others);

}  // namespace virtual_platform
