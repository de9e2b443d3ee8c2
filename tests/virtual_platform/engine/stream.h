// Streams: queues of operations, timed in virtual time. When an operation takes place in virtual time (which needs its
// duration only) and when its effect on memory is computed are two things; see deferred.h for the second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "tests/virtual_platform/engine/device.h"
#include "tests/virtual_platform/engine/memory.h"

namespace virtual_platform {

struct Stream;
struct Operation;
struct Meeting;
using OperationPointer = std::shared_ptr<Operation>;

// What an operation reads and writes; ranges may be larger than what is really touched.
struct Footprint {
  std::vector<Range> reads;
  std::vector<Range> writes;
};

struct Claim {
  int device = 0;
  Engine engine = Engine::compute;
};

// Data on its way between two devices, or a device and the host.
struct Flow {
  int from = 0;
  int to = 0;
};

// Ranks of other processes that take part in a Meeting (nccl/link.h). Called with the engine's mutex held; never waits.
class Elsewhere {
 public:
  struct Start {
    double enqueued = 0;  // the last of this process's ranks
    double time = 0;      // in: when this process's ranks could start; out: when all can
    double slowdown = 1;  // likewise
  };
  virtual ~Elsewhere() = default;
  // False: others are not there yet, and are asked about again. True: the meeting's seconds and effect are set.
  virtual bool arrived(Meeting& meeting, Start& start) = 0;
  virtual void done() = 0;  // the effect on memory of this process has taken place
};

// Operations, one on each rank's stream, which start together when the last has arrived, and end together.
struct Meeting {
  int expected = 0;
  double seconds = 0;                          // of healthy GPUs; the engine multiplies with the largest slowdown
  std::shared_ptr<const Footprint> footprint;  // of all ranks
  std::function<void()> effect;                // of all ranks, run once, before the first reader of what it writes
  std::uint64_t identity = 0;                  // as Work's
  bool hung = false;                           // never starts, until it is aborted
  bool aborted = false;                        // ends at once, without effect; call poke() after setting it
  std::shared_ptr<Elsewhere> elsewhere;        // footprint and effect are of this process's ranks then
  std::vector<Operation*> arrived;             // the engine's
  bool asked_elsewhere = false;                // the engine's
};

// What a stand-in puts on a stream.
struct Work {
  std::string_view kind;  // for Faults::operations: "copy", "kernel", "gemm", "collective"; empty: cannot go wrong
  std::string_view name;  // of the kernel or call; outlives the operation
  std::vector<Claim> engines = {};
  std::shared_ptr<const Footprint> footprint = {};
  // Works on accessible() addresses.
  std::function<void()> effect = {};
  // Computes what of the effect reaches these ranges, once; true: nothing is left. For effects whose parts are
  // independent and take long.
  std::function<bool(std::span<const Range> wanted)> partly = {};
  bool covers = false;  // every byte of footprint->writes is written: what was there before is gone
  // Not 0: operations of the same identity have the same footprint, do not read what they write, and write the same
  // bytes of it (maybe other values): of two, the earlier need not run when nobody has read in between.
  std::uint64_t identity = 0;
  // Duration on a healthy GPU (the engine multiplies with its slowdown), asked when everything before it is timed.
  std::function<double(double start)> seconds = {};
  std::shared_ptr<Meeting> meeting = {};  // instead of footprint, effect and seconds
  std::vector<Flow> flows = {};           // it moves data over these links, so that others see them busy
  // For work whose footprint is known only when it runs: asked when it is timed, fills in what is missing, and may run
  // the effect (after run_pending() of what it may touch), leaving none.
  std::function<void(Work&)> discover = {};
  // A gate: not before this is true. What is enqueued behind starts back to back at the latest time of all threads.
  std::function<bool()> ready = {};
};

// Guards everything here; taken by the functions below. May be taken around several calls.
std::recursive_mutex& engine_mutex();

// A cudaStream_t is a Stream*; null is the current device's default stream, for which no other stream waits: the
// product's do not (cudaStreamNonBlocking).
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

// Computes effects not computed yet that somebody who reads and writes these ranges would miss.
void run_pending(std::span<const Range> ranges);

// Whether anything was written to `ranges` since watch_writes(), as far as it has taken place in virtual time.
struct WriteWatch {
  std::vector<Range> ranges;
  bool written = false;
};
void watch_writes(const std::shared_ptr<WriteWatch>& watch);  // until it is destroyed
// Called before memory is freed: what was only written there is never computed.
void forget_memory(const Range& freed);

// Rate of a flow that starts at `start`, in GB/s: what its link has, less what opposite flows and those of GPUs on the
// same uplink take.
double flow_gbps(const Flow& flow, double start);

bool eager();  // CLAIMCHECK_VIRTUAL_MODE=eager: effects at once, in order, none left out

// Durations of a kernel: at least the floor, else by the resource that limits it. Rates in GB/s and TFLOPS.
struct KernelCost {
  double memory_bytes = 0;                      // of the device's own memory
  double flop = 0;                              //
  double tflops = 0;                            // what `flop` runs at
  double latency_seconds = 0;                   // of a chain of dependent loads
  double host_bytes_read = 0;                   // of pinned memory
  double host_bytes_written = 0;                //
  double footprint_bytes = 0;                   // memory touched: what fits L2 runs at its rate
  std::vector<double> peer_bytes_read = {};     // by owner
  std::vector<double> peer_bytes_written = {};  // by owner
};
double kernel_seconds(int device, const KernelCost& cost, double start);

}  // namespace virtual_platform
