// The benchmarks that were declared, and the cases they have on this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/benchmark.h"

namespace claimcheck::bench {

// Why something has no number.
struct Failure {
  kernels::Outcome outcome = kernels::Outcome::failed;
  std::string reason;
  bool context_dead = false;
};

// The exception now being handled, as a failure. Call inside a catch block only.
Failure current_failure();

struct ListedCase {
  const Benchmark* benchmark = nullptr;
  Case chosen;
  std::string id;                  // "gemm.fp32/n:4096"
  std::optional<Failure> failure;  // known without running
};

std::vector<ListedCase> list_cases(kernels::Platform& platform, const Options& options);

// Those of `only`, in its order; an id of a benchmark stands for all its cases. Throws UsageError naming the nearest
// id.
std::vector<ListedCase> choose(const std::vector<ListedCase>& cases, const std::vector<std::string>& only);

}  // namespace claimcheck::bench
