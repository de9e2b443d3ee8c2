// The interface between what is measured (bench/) and how one kind of device does it (kernels/host, kernels/cuda).
// bench/ includes this header only. Each worker links exactly one implementation of open_platform().
//
// Rules for implementations
// - Work is enqueued on a Stream and returns at once; order within a stream is kept, streams run side by side.
// - Device memory is not readable by the host program; only download() and upload() cross the border.
// - Every failure is an Error (error.h). "Cannot run here" is Outcome::unsupported with the reason.
// - Every wait has a deadline; past it the call throws Outcome::timed_out.
// - Destructors never throw and wait for the work that uses what they free.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/data_type.h"
#include "kernels/error.h"
#include "kernels/neural.h"

namespace claimcheck::kernels {

using Duration = std::chrono::duration<double>;

// A named fact; monostate means "unknown", which is never written as 0. Names carry their unit: "sm_clock_mhz".
using Fact = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<double>>;
using Facts = std::vector<std::pair<std::string, Fact>>;

// ---------------------------------------------------------------------------------------------- memory

enum class Placement { device, pinned_host };

// Owns memory; freed by the destructor. Aligned to 512 bytes at least.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::size_t size_bytes() const { return size_bytes_; }
  Placement placement() const { return placement_; }
  // For implementations. bench/ uses that of pinned_host memory only, for what the system reads and writes (files).
  void* address() const { return address_; }

 protected:
  Buffer(void* address, std::size_t size_bytes, Placement placement)
      : address_(address), size_bytes_(size_bytes), placement_(placement) {}

  void* address_;
  std::size_t size_bytes_;
  Placement placement_;
};

// Part of a buffer. Offsets of slices given to kernels are multiples of 16 bytes (vector accesses).
struct Slice {
  Buffer* buffer = nullptr;
  std::size_t offset_bytes = 0;
  std::size_t size_bytes = 0;

  Slice() = default;
  Slice(Buffer& whole) : buffer(&whole), size_bytes(whole.size_bytes()) {}
  Slice(Buffer& whole, std::size_t offset, std::size_t size) : buffer(&whole), offset_bytes(offset), size_bytes(size) {}
  void* address() const { return static_cast<std::byte*>(buffer->address()) + offset_bytes; }
};

// What buffers are filled with. `normal`: mean 0, standard deviation 1 (scaled into range for fp8, fp4 and int8),
// the same values for the same seed on every device kind. `zeros` is for the zeros-to-random power ratio only.
enum class Pattern { normal, zeros };

// ---------------------------------------------------------------------------------------------- streams and time

class Stream {
 public:
  virtual ~Stream() = default;
  // Returns when all enqueued work is done; rethrows an error of that work; throws timed_out past the deadline.
  virtual void wait(Duration deadline) = 0;
};

// Device time between two points of one stream (CUDA events, the steady clock read inside the stream on the host).
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void start(Stream& stream) = 0;
  virtual void stop(Stream& stream) = 0;
  virtual double seconds() const = 0;  // after the stream was waited for; resolution as the device has it
};

// Holds streams back so that work on several devices starts together: hold() each stream, enqueue, open().
class Gate {
 public:
  virtual ~Gate() = default;
  virtual void hold(Stream& stream) = 0;
  virtual void open() = 0;
};

// ---------------------------------------------------------------------------------------------- operations

// STREAM-like kernels on arrays of doubles a, b, c, all of the same size, s a scalar:
//   read sum(a) -> result   write c = s   copy c = a   scale c = s a   add c = a + b   triad c = a + s b
// Bytes moved, as STREAM counts them (no write-allocate): read 1, write 1, copy 2, scale 2, add 3, triad 3 arrays.
enum class MemoryKernel { read, write, copy, scale, add, triad };

std::string_view to_string(MemoryKernel kernel);
int arrays_moved(MemoryKernel kernel);

// C (m x n) = A (m x k) B (k x n). A holds m rows of k contiguous values, B holds n columns of k contiguous values,
// C holds n columns of m contiguous values ("TN" in BLAS words, the layout every data type supports).
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double flop() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// A chosen way to do one GEMM; made once (heuristics are searched then), enqueued many times.
class Gemm {
 public:
  virtual ~Gemm() = default;
  virtual void enqueue(Stream& stream, Slice a, Slice b, Slice c) = 0;
  virtual DataType output_type() const = 0;
  // Of B, where it is not that of A, which is the type asked for: cuBLASLt multiplies fp8_e5m2 by fp8_e4m3 only.
  virtual std::optional<DataType> other_b_type() const { return std::nullopt; }
  virtual Facts facts() const = 0;  // library, version, algorithm, workspace_bytes
};

// Arithmetic on registers by the ordinary units: what they reach when memory plays no part.
enum class VectorOp { fp64, fp32, fp16, bf16, int32, dp4a };

std::string_view to_string(VectorOp op);

// Lane i of lanes() runs chains() independent chains from its own input value v = input[i]; output[i] is the sum
// ((x_0 + x_1) + x_2) + ... of their end values. Chain j repeats, `steps` times:
//   floating point  x = x x - 1.8125 (a chaotic map: every bit counts), fused, from x = v / 8 + j / 16, rounded once;
//                   sums are rounded to the type
//   int32           x = 1664525 x + 1013904223, modulo 2^32 as the sums, from x = v + j
//   dp4a            x = v + sum over the four bytes of (byte of x) x (byte of 0xff02fd04), both signed, from x = v + j
// Values are of the op's type: 8 bytes for fp64, 2 for fp16 and bf16 (which are worked on in pairs), else 4.
class VectorChains {
 public:
  virtual ~VectorChains() = default;
  virtual void enqueue(Stream& stream, Slice input, Slice output, std::int64_t steps) = 0;
  virtual std::int64_t lanes() const = 0;
  virtual int chains() const = 0;
  // Of one step of one chain of one lane: 2 for a multiply-add, 8 for dp4a.
  virtual int operations() const = 0;
};

// The matrix units on registers. Each of tiles() tiles has its own operands, held in registers, and repeats C = C + A B
// `steps` times from C = 0, so that C = steps x A B at the end. Operands lie tile after tile, each stored as those of a
// GEMM (A: m rows of k contiguous values, B: n columns of k, C: n columns of m).
class TensorTiles {
 public:
  virtual ~TensorTiles() = default;
  virtual void enqueue(Stream& stream, Slice a, Slice b, Slice c, std::int64_t steps) = 0;
  virtual std::int64_t tiles() const = 0;
  virtual GemmShape tile() const = 0;
  virtual DataType output_type() const = 0;
  virtual Facts facts() const = 0;  // instruction
};

enum class CopyEngine { copy_engine, kernel };

enum class Access { direct, through_host };  // how one device reaches another's memory

enum class Collective { all_reduce, all_gather, reduce_scatter, broadcast, send_receive, all_to_all };

std::string_view to_string(Collective collective);

// ---------------------------------------------------------------------------------------------- devices

struct DeviceFacts {
  int index = 0;                 // position in Platform::devices() or Platform::ranks()
  std::string name;              // "NVIDIA H100 80GB HBM3", "AMD EPYC 9R14"
  std::string uuid;              // empty when unknown; hashed by the harness before it is stored
  std::size_t memory_bytes = 0;  // all of it
  std::size_t free_memory_bytes = 0;
  std::size_t last_level_cache_bytes = 0;  // L2 of a GPU, L3 of a CPU
  int compute_units = 0;                   // SMs, cores
  bool is_virtual = false;                 // tests/virtual_platform
  Facts more;                              // clocks, bus width, compute capability, NUMA node, MIG mode, ...
};

// Samples sensors from construction to stop(): clocks, power, temperature, throttle reasons, CPU steal.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual Facts stop() = 0;
};

// A file that is read and written without the host's memory in between (GPUDirect Storage). Both calls return when the
// bytes are moved; several threads may make them at once. Offsets and sizes are multiples of 4096 bytes.
class DirectFile {
 public:
  virtual ~DirectFile() = default;
  virtual void write(std::size_t offset_bytes, Slice source) = 0;
  virtual void read(std::size_t offset_bytes, Slice target) = 0;
  virtual Facts facts() const = 0;  // library, version
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceFacts& facts() const = 0;
  virtual std::unique_ptr<Watch> watch() = 0;
  // What the sensors say now, by the names a Watch sums up; from any thread. Empty where there are none.
  virtual Facts sense() { return {}; }

  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Timer> make_timer() = 0;

  // Throws failed with the free and the wanted size when memory does not suffice.
  virtual std::unique_ptr<Buffer> allocate(std::size_t size_bytes, Placement placement = Placement::device) = 0;

  virtual void fill(Stream& stream, Slice target, DataType type, Pattern pattern, std::uint64_t seed) = 0;
  virtual void upload(Stream& stream, Slice target, std::span<const std::byte> source) = 0;  // returns when done
  virtual void download(Stream& stream, std::span<std::byte> target, Slice source) = 0;      // returns when done

  // read writes its sum as one double to `c`; unused slices are ignored. Sizes are multiples of 16 bytes.
  virtual void memory(Stream& stream, MemoryKernel kernel, Slice a, Slice b, Slice c, double scalar) = 0;

  // Writes the number of 8-byte words in which `a` and `b` differ to `count`, as one double. Sizes of `a` and `b` are
  // the same multiple of 16 bytes.
  virtual void compare(Stream& stream, Slice a, Slice b, Slice count) = 0;

  // Throws unsupported with the reason: architecture, library version, layout rule, memory.
  virtual std::unique_ptr<Gemm> make_gemm(DataType type, const GemmShape& shape) = 0;

  // Any placements, also from or to another device's buffer (peer copy; this device does the work, so it is a write to
  // the peer or a read from it). Sizes are equal. CopyEngine::kernel needs Access::direct, else it throws unsupported.
  virtual void copy(Stream& stream, Slice target, Slice source, CopyEngine engine) = 0;

  // What not every kind of device has; the default throws unsupported.

  // One thread follows a chain: from index 0, `loads` times index = list[index], 64 bit each; the index arrived at is
  // written to `last` (64 bit). `list` may be in another device's memory where access is direct.
  virtual void chase(Stream& stream, Slice list, std::int64_t loads, Slice last);
  virtual std::unique_ptr<VectorChains> make_vector(VectorOp op);
  virtual std::unique_ptr<TensorTiles> make_tensor(DataType type);
  virtual void launch_empty(Stream& stream);  // a kernel that does nothing
  // Of a file opened past the page cache (O_DIRECT), which stays open meanwhile; `memory` is the buffer of this device
  // that its slices will be of, and outlives it. Throws unsupported where the way would lead through the host.
  virtual std::unique_ptr<DirectFile> open_direct_file(int descriptor, Buffer& memory);
  virtual std::unique_ptr<Neural> make_neural();
  // What is enqueued on `later` from now on waits for what is on `earlier` now.
  virtual void order(Stream& later, Stream& earlier);
};

// ---------------------------------------------------------------------------------------------- groups of ranks

// What processes said of a phase in which at least one failed, in process order; unset: that one did not fail.
using PhaseReports = std::vector<std::optional<std::string>>;

// Another process failed while this one was still at work; `reports` is what end_phase() would have given, and has been
// given to all: end_phase() is not called for this phase any more.
class PeersFailed : public Error {
 public:
  explicit PeersFailed(PhaseReports reports, std::source_location place = std::source_location::current());
  const PhaseReports& reports() const noexcept { return *reports_; }

 private:
  std::shared_ptr<const PhaseReports> reports_;
};

// The processes of one run. Process 0 alone unless a launcher started more. All make the same calls in the same order,
// except that one which failed goes on to end_phase() at once, and the others leave their call with PeersFailed.
// Past the deadline given to open_world() a call throws timed_out with context_dead: the world is of no use any more.
class World {
 public:
  // To one process and from another at once; a span is left empty where there is nothing to send or to receive.
  struct Exchange {
    int to = 0;
    std::span<const std::byte> out;
    int out_tag = 0;
    int from = 0;
    std::span<std::byte> in;
    int in_tag = 0;
  };

  virtual ~World() = default;
  virtual int process() const { return 0; }
  virtual int processes() const { return 1; }
  // Processes that can share memory are on one node; nodes are numbered in the order of their first process.
  virtual int node() const { return node_of(process()); }
  virtual int nodes() const { return 1; }
  virtual int node_of(int /*process*/) const { return 0; }
  virtual int local_process() const { return 0; }  // among those of this node
  virtual int local_processes() const { return 1; }
  virtual Facts facts() const { return {}; }  // library, version, host names of the nodes

  virtual void broadcast(std::span<std::byte> /*data*/) {}  // from process 0 to all
  virtual double max(double value) { return value; }        // over all processes
  virtual void barrier() {}
  // What each process gives (a few KiB at most), in process order, to all.
  virtual std::vector<std::string> gather(const std::string& mine) { return {mine}; }
  // Says whether this process failed in the phase that ends. Empty when no process did.
  virtual PhaseReports end_phase(std::optional<std::string> failure) {
    return failure ? PhaseReports{std::move(failure)} : PhaseReports{};
  }

  // For groups without a library of their own; from any thread. Messages of one tag between two processes keep their
  // order. Returns false when `give_up` said so, after which the world is of no use any more.
  virtual bool exchange(const Exchange& what, const std::function<bool()>& give_up);
};

// Asks the environment whether a launcher (mpirun, srun, ...) started several processes, and connects them over MPI,
// which is loaded only then. Throws with the remedy when that cannot be. `deadline`: of every wait in World.
std::unique_ptr<World> open_world(Duration deadline);
// Some processes of `whole` as a world of their own, in which process p is members[p]: for groups of a few nodes. Only
// those make it, all with the same list, and `whole` outlives it. Parts without a common process work side by side. A
// failure elsewhere is not noticed in its calls; past `deadline` they throw, and then `whole` is of no use any more.
std::unique_ptr<World> part_of(World& whole, std::vector<int> members, Duration deadline);
// Whether this process is the first of its node, as far as its launcher said: it speaks for the others where all would
// say the same, before a world is there.
bool first_of_its_node();

// Ranks that take part in collectives: the local devices of every process, in process order.
class Group {
 public:
  struct Buffers {
    Slice send;
    Slice receive;  // the same slice as `send`: in place, as NCCL defines it per collective
  };

  virtual ~Group() = default;
  virtual int size() const = 0;        // ranks of all processes
  virtual int first_rank() const = 0;  // of this process

  // One call enqueues the collective for every local rank, buffers[i] and streams[i] being those of local rank i.
  // `count` is in elements of `type`, as NCCL counts it: of the send buffer for all_reduce, broadcast, all_gather and
  // send_receive (each rank sends to the next, receives from the one before); of the receive buffer for reduce_scatter;
  // per peer for all_to_all. Reductions are sums. broadcast is from rank 0.
  virtual void enqueue(Collective collective, std::span<const Buffers> buffers, std::size_t count, DataType type,
                       std::span<Stream* const> streams) = 0;

  // Waits for all streams, polling the library's asynchronous error; past the deadline aborts the group and throws.
  virtual void wait(std::span<Stream* const> streams, Duration deadline) = 0;

  virtual Facts facts() const = 0;  // library, version, algorithm, transport
};

// ---------------------------------------------------------------------------------------------- the platform

class Platform {
 public:
  virtual ~Platform() = default;

  virtual std::string_view kind() const = 0;  // "host", "cuda"
  virtual Facts facts() const = 0;            // versions of driver, runtime and libraries; virtual or not

  // What a user calls a device: each GPU; the CPU of this machine as one, all its cores at work.
  virtual std::span<Device* const> devices() = 0;
  // What can work side by side: each GPU; each usable core of the CPU with its own thread. Equal to devices() for GPUs.
  virtual std::span<Device* const> ranks() = 0;

  virtual std::unique_ptr<Gate> make_gate() = 0;
  virtual Access access(const Device& from, const Device& to) = 0;
  virtual std::unique_ptr<Group> make_group(std::span<Device* const> local, World& world) = 0;
};

struct PlatformOptions {
  std::optional<int> threads;  // host: cores to use, default all in the affinity mask
  // Devices that all processes of a node see are dealt out among them; null: this process has all. open_platform()
  // calls gather() once, before anything that can fail.
  World* world = nullptr;
  Duration deadline{60};  // of waits the caller has no hand in: trials of GEMM algorithms, connecting a group
};

// Throws Error with the remedy when no usable device is there.
std::unique_ptr<Platform> open_platform(const PlatformOptions& options);

}  // namespace claimcheck::kernels
