// Streams: queues of operations, timed in virtual time. When an operation takes place in virtual time (which needs its
// duration only) and when its effect on memory is computed are two things; see deferred.h for the second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tests/virtual_platform/engine/device.h"
#include "tests/virtual_platform/engine/memory.h"

namespace virtual_platform {

struct Stream;
struct Operation;
using OperationPointer = std::shared_ptr<Operation>;

// What an operation reads and writes. A write range is wholly written, unless the operation reads it too.
struct Footprint {
  std::vector<Range> reads;
  std::vector<Range> writes;
};

struct Claim {
  int device = 0;
  Engine engine = Engine::compute;
};

// Operations, one on each rank's stream, which start together when the last has arrived, and end together.
struct Meeting {
  int expected = 0;
  double seconds = 0;
  std::shared_ptr<const Footprint> footprint;  // of all ranks
  std::function<void()> effect;                // of all ranks, run once, before the first reader of what it writes
  std::uint64_t identity = 0;                  // as Work's
  bool hung = false;                           // never starts, until it is aborted
  bool aborted = false;                        // ends at once, without effect; call poke() after setting it
  std::vector<Operation*> arrived;             // the engine's
};

// What a stand-in puts on a stream.
struct Work {
  std::string_view kind;  // for Faults::operations: "copy", "kernel", "gemm", "collective"; empty: cannot go wrong
  std::string_view name;  // of the kernel or call; outlives the operation
  std::vector<Claim> engines = {};
  std::shared_ptr<const Footprint> footprint = {};
  // Works on accessible() addresses.
  std::function<void()> effect = {};
  // Not 0: operations of the same identity have the same footprint, do not read what they write, and write the same
  // bytes of it (maybe other values): of two, the earlier need not run when nobody has read in between.
  std::uint64_t identity = 0;
  // Duration on an idle machine, in seconds, asked when all operations before it are timed; `start` is known then.
  std::function<double(double start)> seconds = {};
  std::shared_ptr<Meeting> meeting = {};  // instead of footprint, effect and seconds
  // Instead of footprint and effect, when they are not known yet: runs at once, says what was read and written.
  std::function<std::shared_ptr<const Footprint>()> discover = {};
  std::vector<Range> may_touch = {};  // for discover: what has to be up to date before
  std::function<bool()> ready = {};   // for gates: not before this
};

// Guards everything here; taken by the functions below. May be taken around several calls.
std::recursive_mutex& engine_mutex();

// A cudaStream_t is a Stream*. The default stream (null) is not modelled: the product names its streams.
Stream* make_stream(int device);
Stream* as_stream(void* handle);  // null when there is no such stream
int device_of(const Stream& stream);
void destroy_stream(Stream* stream);  // its work goes on

// Returns 0 or the device's cudaError_t. The operation is kept by whoever wants to wait for it.
int enqueue(Stream& stream, Work work, OperationPointer* operation = nullptr);
// What is enqueued on `stream` from now on waits for `operation`.
void wait_for(Stream& stream, OperationPointer operation);

bool is_timed(const Operation& operation);  // it has taken place in virtual time
double end_of(const Operation& operation);  // virtual time; of a timed one

// Waits until all work of the stream (device) has taken place, moves the host's time to its end, and makes what it did
// to host memory visible. 0 or the device's cudaError_t.
int synchronise(Stream& stream);
int synchronise_device(int device);
// Whether that is so already; if so, as synchronise(). An operation that was waited for is `until`.
bool is_done(Stream& stream);
bool is_done(const OperationPointer& until);
int synchronise(const OperationPointer& until);

// Something other operations wait for has changed: time what can be timed, wake who waits.
void poke();

bool eager();  // CLAIMCHECK_VIRTUAL_MODE=eager: effects at once, in order, none left out

// Durations of a kernel: at least the floor, else by the resource that limits it. Rates in GB/s and TFLOPS.
struct KernelCost {
  double memory_bytes = 0;                 // of the device's own memory
  double flop = 0;                         //
  double tflops = 0;                       // what `flop` runs at
  double latency_seconds = 0;              // of a chain of dependent loads
  double host_bytes = 0;                   // of pinned memory, read or written
  double footprint_bytes = 0;              // memory touched: what fits L2 runs at its rate
  std::vector<double> peer_bytes_read;     // by owner
  std::vector<double> peer_bytes_written;  // by owner
};
double kernel_seconds(int device, const KernelCost& cost);

}  // namespace virtual_platform
