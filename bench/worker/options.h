// The worker's command line: its own options, and Google Benchmark's, which are handed on.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "kernels/device.h"

namespace claimcheck::bench {

// Bad usage: one sentence, exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What can go wrong in reality, made to happen in one case, for end-to-end tests of the harness: --fault
// KIND:ID[@PROCESS].
struct Fault {
  enum class Kind { crash, hang, garbage, wrong, wrong_later, exit, fail, fail_later };
  Kind kind = Kind::crash;
  std::string id;
  std::optional<int> process = {};  // unset: in all
};

struct WorkerOptions {
  Options benchmarks;
  kernels::PlatformOptions platform;
  bool describe = false;
  bool events = true;             // off: Google Benchmark's own output on stdout instead
  std::vector<std::string> only;  // ids, in the order to be measured; empty: all
  std::optional<Fault> fault;
  int repetitions = 6;              // the fewest that give a 95 % interval of the median
  bool list_only = false;           // --benchmark_list_tests
  std::string format = "console";   // --benchmark_format
  std::vector<std::string> google;  // argv[0] and the flags for benchmark::Initialize
  std::optional<std::string> help;  // text to print, then exit 0
  bool silent = false;              // a process other than the first: what it would print, that one prints
};

// Throws UsageError.
WorkerOptions parse_options(int argc, char** argv);

}  // namespace claimcheck::bench
