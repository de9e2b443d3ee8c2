// How a benchmark is declared. A file in bench/ declares one family with add(); nothing else has to know about it.
// bench/ includes this header and kernels/device.h only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

// What the benchmark runs on:
//   each_device  every Platform::devices() at once; the headline is the slowest device
//   ranks        Platform::ranks(), as many as the case asks for
//   machine      no device (storage)
enum class Scope { each_device, ranks, machine };

// Limits and settings of this run, from the worker's options. Tests turn sizes and times down.
struct Options {
  double min_time_seconds = 0.5;        // of one repetition
  std::uint64_t seed = 1;               // of random data
  std::size_t max_bytes = 0;            // largest working set of one device, 0: as large as the benchmark wants
  std::int64_t max_gemm = 16384;        // largest m, n, k
  std::size_t file_bytes = 0;           // of the storage benchmarks, 0: the benchmark's own choice
  std::string scratch_directory = ".";  // where storage benchmarks write
  std::string checkpoint_directory;     // where checkpoints are saved as well; empty: nowhere else
  double deadline_seconds = 60;         // of one wait
  int repetitions = 6;                  // of each case
  double soak_seconds = 60;             // how long a soak lasts
  double soak_segment_seconds = 60;     // of each part of it that is reported by itself
  int processes = 1;                    // of this run, each with as many ranks as this one
  int nodes = 1;                        // of this run, each with as many processes
};

// One instance of a benchmark: "gemm.fp32/n:4096" is benchmark "gemm.fp32" with label "n:4096" and value 4096.
struct Case {
  std::string label;         // empty when the benchmark has one case only
  std::int64_t value = 0;    // what the label says, for prepare()
  std::string variant = {};  // a further word of prepare()'s own: "in_place", "zeros"
  bool quick = true;         // part of the quick profile, when its benchmark is
  // Estimates for the plan, where this case differs from its benchmark.
  std::optional<double> setup_seconds = {};
  std::optional<double> iteration_seconds = {};
};

struct Setting {
  using Alive = std::function<void()>;

  kernels::Platform& platform;
  kernels::World& world;
  const Options& options;
  const Case& chosen;
  // Of all ranks, kept from case to case, since connecting takes seconds; null until one is made, and after a failure.
  std::shared_ptr<kernels::Group>& group;
  // What a benchmark keeps from one of its cases to the next; null at its first, and after a failure.
  std::shared_ptr<void>* kept = nullptr;
  // For iterations of many seconds: says that this one is still at work. Call it as often as you like.
  Alive alive = [] {};
};

// What one iteration took. `seconds` is device time; with several devices it is that of the slowest.
struct Iteration {
  double seconds = 0;
  std::vector<double> device_seconds = {};  // of each device, where there are several
  // Further metrics of this iteration: key, value in its unit. A repetition's value is their mean weighted by
  // `seconds`.
  std::vector<std::pair<std::string, double>> also = {};
  // Device time of everything run() did, where that is more than `seconds`: devices one after the other, a comparison
  // run beside. The minimum time of a repetition is counted in it.
  double busy_seconds = 0;
  // The same by the host's clock, where the work was held back first; 0: what the call of run() took.
  double host_seconds = 0;
  bool idle = false;  // this process had no part in it; others had, and their seconds count

  double whole_seconds() const { return busy_seconds > seconds ? busy_seconds : seconds; }
};

// A benchmark made ready: buffers allocated and filled, plans chosen. Destroyed when its repetitions are done.
struct Prepared {
  // Per iteration and device, in base units of the metric (bytes, FLOP, operations). For Rate::seconds the operations
  // in one iteration, whose time is divided by it.
  double work = 0;
  // Proves what the last run() left against an independent reference; throws wrong_result. Called after the first run()
  // and after the last.
  std::function<void()> verify;
  std::function<Iteration()> run;         // one iteration
  std::function<void()> spoil;            // flips one bit of what verify() looks at: the proof that verify() can fail
  std::vector<kernels::Device*> devices;  // watched for evidence, named in the result
  nlohmann::json conditions;              // data type, shape, bytes, ranks, data pattern, ...
  nlohmann::json also_conditions;         // by metric of `also`: what is another there
  std::function<nlohmann::json()> evidence;  // optional, asked once after the last repetition
  bool evidence_after_failure = false;       // asked for evidence then, too; it must not touch a device
  bool warm_up = true;  // false where an iteration is long and not made faster by repetition (storage)
};

// How the metric's value comes from an iteration.
enum class Rate {
  work_per_second,  // work / seconds, in the metric's unit (GB/s 1e9, TFLOPS 1e12, GFLOPS 1e9, IOPS 1)
  seconds,          // the time itself (latency), seconds / work, in the metric's unit (us, s)
  ratio             // the value is given by run() in `also` under the metric's own key
};

struct Benchmark {
  std::string id;       // "memory.triad": unique, stable
  std::string metric;   // "memory.triad.gbps", a key of results-schema/metrics.json
  std::string unit;     // "GB/s"
  std::string method;   // "memory.triad/1": raised whenever numbers stop being comparable
  std::string summary;  // one sentence for `claimcheck list`
  Scope scope = Scope::each_device;
  Rate rate = Rate::work_per_second;
  int priority = 2;              // 1 is measured first and left out last when the budget is short, 3 the reverse
  bool quick = true;             // part of the quick profile
  bool soak = false;             // part of the soak profile, and of no other
  double setup_seconds = 1;      // estimate of prepare() and verify(), for the plan
  double iteration_seconds = 0;  // estimate of one iteration where it is longer than the minimum time (storage)
  std::vector<std::pair<std::string, std::string>> also = {};  // further metrics run() gives: key, unit
  // The cases on this platform with these options; one unnamed case when not set. The same answer every time in every
  // process of one machine, since ids are made from it. May throw kernels::unsupported: listed once, with the reason.
  std::function<std::vector<Case>(kernels::Platform&, const Options&)> cases = {};
  // May throw kernels::unsupported with the reason.
  std::function<Prepared(Setting&)> prepare;
};

// Declares a benchmark; returns true so that it can initialise a constant at namespace scope.
bool add(Benchmark benchmark);

// All declared benchmarks, by id.
std::span<const Benchmark> all();

}  // namespace claimcheck::bench
