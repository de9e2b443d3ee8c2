#include "tests/virtual_platform/engine/stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/virtual_platform/engine/clock.h"
#include "tests/virtual_platform/engine/engine.h"

namespace virtual_platform {

namespace {

using Lock = std::unique_lock<std::recursive_mutex>;

constexpr std::size_t queue_depth = 1024;

// Streams are never deleted: operations and events may still point to them.
struct Streams {
  std::vector<std::unique_ptr<Stream>> all;
  std::unordered_set<void*> alive;
};

Streams& streams() {
  static Streams& one = *new Streams;
  return one;
}

// The host sleeps until `done`, which is asked again whenever another thread changed something; a gate is opened by a
// plain store nobody tells us of, hence the short sleeps.
template <class Done>
void wait_until(Lock& lock, const Done& done) {
  for (;;) {
    scheduler().time_all();
    if (done()) return;
    scheduler().changed.wait_for(lock, std::chrono::milliseconds(1));
  }
}

// As on a GPU, a full queue makes the call wait. Behind a closed gate it would wait for ever.
void make_room(Lock& lock, Stream& stream) {
  if (stream.queue.size() < queue_depth) return;
  scheduler().time_all();
  if (stream.queue.size() < queue_depth) return;
  if (stream.queue.front()->work.ready) {
    std::fprintf(
        stderr,
        "virtual platform: %zu operations are enqueued behind a closed gate; on a GPU this call never returns. "
        "Enqueue fewer before the gate opens.\n",
        queue_depth);
    std::abort();
  }
  wait_until(lock, [&stream] { return stream.queue.size() < queue_depth; });
}

int after_waiting(Stream& stream, const Operation& until) {
  host_join(until.end);
  scheduler().observe(stream, until.sequence);
  return device(stream.device).error;
}

}  // namespace

std::recursive_mutex& engine_mutex() {
  static std::recursive_mutex& one = *new std::recursive_mutex;
  return one;
}

bool eager() {
  static const bool chosen = [] {
    const char* mode = std::getenv("CLAIMCHECK_VIRTUAL_MODE");
    const std::string text = mode == nullptr ? "lazy" : mode;
    if (text == "eager" || text == "lazy" || text.empty()) return text == "eager";
    std::fprintf(stderr, "virtual platform: CLAIMCHECK_VIRTUAL_MODE is '%s', expected lazy or eager\n", mode);
    std::abort();
  }();
  return chosen;
}

Stream* make_stream(int device_index) {
  const Lock lock(engine_mutex());
  streams().all.push_back(std::make_unique<Stream>());
  Stream* stream = streams().all.back().get();
  stream->device = device_index;
  streams().alive.insert(stream);
  return stream;
}

Stream* as_stream(void* handle) {
  const Lock lock(engine_mutex());
  if (handle == nullptr) {
    static auto& by_device = *new std::vector<Stream*>(static_cast<std::size_t>(device_count()));
    Stream*& mine = by_device.at(static_cast<std::size_t>(current_device()));
    if (mine == nullptr) mine = make_stream(current_device());
    return mine;
  }
  return streams().alive.contains(handle) ? static_cast<Stream*>(handle) : nullptr;
}

int device_of(const Stream& stream) { return stream.device; }

void destroy_stream(Stream* stream) {
  const Lock lock(engine_mutex());
  streams().alive.erase(stream);
}

int enqueue(Stream& stream, Work work, OperationPointer* operation) {
  Lock lock(engine_mutex());
  make_room(lock, stream);
  auto added = std::make_shared<Operation>();
  added->work = std::move(work);
  scheduler().add(stream, added);
  if (eager()) scheduler().time_all();
  if (operation != nullptr) *operation = std::move(added);
  return device(stream.device).error;
}

void wait_for(Stream& stream, OperationPointer operation) {
  const Lock lock(engine_mutex());
  if (operation) stream.next_after.push_back(std::move(operation));
}

bool is_timed(const Operation& operation) {
  const Lock lock(engine_mutex());
  return operation.timed;
}

double end_of(const Operation& operation) {
  const Lock lock(engine_mutex());
  return operation.end;
}

int synchronise(const OperationPointer& until) {
  Lock lock(engine_mutex());
  wait_until(lock, [&] { return until->timed; });
  return after_waiting(*until->stream, *until);
}

int synchronise(Stream& stream) {
  OperationPointer last;
  {
    const Lock lock(engine_mutex());
    last = stream.last;
  }
  return last ? synchronise(last) : device(stream.device).error;
}

int synchronise_device(int index) {
  std::vector<Stream*> of_device;
  {
    const Lock lock(engine_mutex());
    for (const auto& stream : streams().all)
      if (stream->device == index) of_device.push_back(stream.get());
  }
  for (Stream* stream : of_device) synchronise(*stream);
  return device(index).error;
}

bool is_done(const OperationPointer& until) {
  const Lock lock(engine_mutex());
  scheduler().time_all();
  if (!until->timed) return false;
  after_waiting(*until->stream, *until);
  return true;
}

bool is_done(Stream& stream) {
  const Lock lock(engine_mutex());
  const OperationPointer last = stream.last;
  return !last || is_done(last);
}

void poke() {
  const Lock lock(engine_mutex());
  scheduler().time_all();
  scheduler().changed.notify_all();
}

void run_pending(std::span<const Range> ranges) {
  const Lock lock(engine_mutex());
  scheduler().deferred.run_for(ranges, ranges);
}

void watch_writes(const std::shared_ptr<WriteWatch>& watch) {
  const Lock lock(engine_mutex());
  scheduler().watch(watch);
}

void forget_memory(const Range& freed) {
  const Lock lock(engine_mutex());
  scheduler().note_writes({&freed, 1});
  scheduler().deferred.forget(freed);
}

}  // namespace virtual_platform
