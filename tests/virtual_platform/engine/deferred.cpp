#include "tests/virtual_platform/engine/deferred.h"

#include <algorithm>
#include <unordered_map>

namespace virtual_platform {

namespace {

const std::vector<Range>& reads_of(const Operation& operation) { return operation.work.footprint->reads; }
const std::vector<Range>& writes_of(const Operation& operation) { return operation.work.footprint->writes; }

void append(std::vector<Range>& to, const std::vector<Range>& more) { to.insert(to.end(), more.begin(), more.end()); }

// Of `some`, those that overlap others.
void append_overlapping(std::vector<Range>& to, const std::vector<Range>& some, const std::vector<Range>& others) {
  for (const Range& one : some)
    if (overlap({&one, 1}, others)) to.push_back(one);
}

bool all_within(const std::vector<Range>& some, const std::vector<Range>& others) {
  return !some.empty() && std::all_of(some.begin(), some.end(), [&](const Range& one) {
    return std::any_of(others.begin(), others.end(), [&](const Range& other) { return one.within(other); });
  });
}

}  // namespace

bool overlap(std::span<const Range> some, std::span<const Range> others) {
  for (const Range& one : some)
    for (const Range& other : others)
      if (one.overlaps(other)) return true;
  return false;
}

void run_effect(Operation& operation) {
  if (operation.work.effect) operation.work.effect();
  operation.work.effect = nullptr;
  if (operation.fault == nullptr || operation.fault->kind != "flipped_bit" || !operation.work.footprint) return;
  // Bit 6 of the last byte of an 8-byte word: in the exponent of every floating-point type.
  const auto flip = [](const Range& range, Address word) {
    *reinterpret_cast<unsigned char*>(accessible(std::min(word + 7, range.end - 1))) ^= 0x40;
  };
  for (const Range& range : operation.work.footprint->writes) {
    if (range.empty()) continue;
    if (!operation.fault->everywhere) return flip(range, (range.begin + (range.end - range.begin) / 2) / 8 * 8);
    for (Address word = range.begin / 8 * 8; word < range.end; word += 8) flip(range, word);
  }
}

void Deferred::add(OperationPointer operation) {
  constexpr std::size_t many = 512;
  list_.push_back(std::move(operation));
  if (list_.size() < many) return;
  leave_out_dead();
  if (list_.size() < many / 2) return;
  // Those that differ are too many to keep looking at.
  for (std::size_t left = many / 4; left > 0; --left) {
    run_effect(*list_.front());
    list_.pop_front();
  }
}

// From the end to the beginning: an operation is dead when later ones write the same and no kept one in between reads
// it. What a dead one would have read is not read.
void Deferred::leave_out_dead() {
  std::unordered_map<std::uint64_t, const Operation*> written_anew;
  std::vector<Range> covered;
  for (auto position = list_.end(); position != list_.begin();) {
    --position;
    Operation& operation = **position;
    const std::uint64_t identity = operation.work.identity;
    if ((identity != 0 && written_anew.contains(identity)) || all_within(writes_of(operation), covered)) {
      operation.work.effect = nullptr;
      position = list_.erase(position);
      continue;
    }
    const std::vector<Range>& reads = reads_of(operation);
    std::erase_if(written_anew, [&](const auto& later) { return overlap(writes_of(*later.second), reads); });
    std::erase_if(covered, [&](const Range& range) { return overlap({&range, 1}, reads); });
    if (overlap(reads, writes_of(operation))) continue;
    if (identity != 0) written_anew[identity] = &operation;
    if (operation.work.covers) append(covered, writes_of(operation));
  }
}

// Backwards: an operation is needed when it wrote what is read, or has to come before something that is needed. Where
// only some of what it writes matters, it may stay, partly computed.
void Deferred::run_needed(const Operation* wanted, std::vector<Range> reads, std::vector<Range> writes) {
  leave_out_dead();
  struct Needed {
    OperationPointer operation;
    std::vector<Range> part;  // empty: all of it
  };
  std::vector<Needed> needed;
  for (auto position = list_.end(); position != list_.begin();) {
    --position;
    Operation& operation = **position;
    const bool whole = &operation == wanted || overlap(reads_of(operation), writes);
    std::vector<Range> part;
    append_overlapping(part, reads, writes_of(operation));
    append_overlapping(part, writes, writes_of(operation));
    if (!whole && part.empty()) continue;
    append(reads, reads_of(operation));
    append(writes, writes_of(operation));
    const bool partly = !whole && operation.work.partly && operation.fault == nullptr;
    needed.push_back({*position, partly ? part : std::vector<Range>{}});
    if (!partly) position = list_.erase(position);
  }
  for (auto one = needed.rbegin(); one != needed.rend(); ++one) {
    if (one->part.empty()) {
      run_effect(*one->operation);
    } else if (one->operation->work.partly(one->part)) {
      one->operation->work.effect = nullptr;
      list_.remove(one->operation);
    }
  }
}

void Deferred::run(const OperationPointer& operation) {
  // Done already, or dead.
  if (operation->work.effect) run_needed(operation.get(), {}, {});
}

void Deferred::run_for(std::span<const Range> reads, std::span<const Range> writes) {
  if (!list_.empty()) run_needed(nullptr, {reads.begin(), reads.end()}, {writes.begin(), writes.end()});
}

void Deferred::forget(const Range& freed) {
  std::vector<Range> read_later;
  for (auto position = list_.end(); position != list_.begin();) {
    --position;
    Operation& operation = **position;
    const std::vector<Range>& writes = writes_of(operation);
    const bool lost = std::all_of(writes.begin(), writes.end(), [&](const Range& one) { return one.within(freed); });
    if (lost && !overlap(writes, read_later)) {
      operation.work.effect = nullptr;
      position = list_.erase(position);
    } else {
      append(read_later, reads_of(operation));
    }
  }
  const Range ranges[] = {freed};
  run_for(ranges, ranges);
}

}  // namespace virtual_platform
