#include "kernels/cuda/gemm_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

namespace {

constexpr std::size_t workspace_wanted = std::size_t{256} << 20;
constexpr int candidates_wanted = 8;
constexpr double too_slow_to_try_seconds = 0.5;
constexpr double trial_seconds = 2e-3;

struct Event {
  Event() { check(cudaEventCreate(&handle)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { ignore(cudaEventDestroy(handle)); }
  cudaEvent_t handle = nullptr;
};

// Choices made, by model, type and shape. Several threads may make plans for several GPUs.
class Choices {
 public:
  using Key = std::tuple<std::string, int, DataType, std::int64_t, std::int64_t, std::int64_t>;

  static Choices& all() {
    static Choices choices;
    return choices;
  }
  std::optional<Choice> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto at = made_.find(key);
    return at == made_.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(const Key& key, const Choice& choice) {
    const std::lock_guard lock(mutex_);
    made_[key] = choice;
  }

 private:
  std::mutex mutex_;
  std::map<Key, Choice> made_;
};

// Times candidates on operands of their own, in a stream of their own.
class Trial {
 public:
  Trial(const Problem& problem, const Gpu& gpu, std::size_t workspace_bytes)
      : problem_(problem),
        stream_(gpu.ordinal),
        deadline_(gpu.deadline),
        a_(problem.a_bytes()),
        b_(problem.b_bytes()),
        c_(problem.c_bytes()),
        workspace_(workspace_bytes),
        workspace_bytes_(workspace_bytes) {
    // Of this byte every type makes small numbers that are neither zero nor NaN.
    check(cudaMemsetAsync(a_.address(), 0x35, problem.a_bytes(), stream_.handle()));
    check(cudaMemsetAsync(b_.address(), 0x35, problem.b_bytes(), stream_.handle()));
  }

  // Seconds of one product, or nothing when the candidate does not run.
  std::optional<double> seconds(const cublasLtMatmulHeuristicResult_t& candidate) {
    const auto once = timed(candidate, 1);  // loads the kernel
    if (!once || *once > too_slow_to_try_seconds) return once;
    const auto again = timed(candidate, 1);
    if (!again) return again;
    const double passes = std::clamp(trial_seconds / std::max(*again, 1e-7), 1.0, 50.0);
    return timed(candidate, static_cast<int>(passes));
  }

 private:
  std::optional<double> timed(const cublasLtMatmulHeuristicResult_t& candidate, int passes) {
    check(cudaEventRecord(start_.handle, stream_.handle()));
    for (int pass = 0; pass < passes; ++pass) {
      const cublasStatus_t status = problem_.enqueue(candidate.algo, a_.address(), b_.address(), c_.address(),
                                                     workspace_.address(), workspace_bytes_, stream_.handle());
      if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return std::nullopt;
      check(status);
    }
    check(cudaEventRecord(stop_.handle, stream_.handle()));
    stream_.wait(deadline_);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_.handle, stop_.handle));
    return milliseconds / 1e3 / passes;
  }

  const Problem& problem_;
  CudaStream stream_;
  Duration deadline_;
  Event start_;
  Event stop_;
  Scratch a_;
  Scratch b_;
  Scratch c_;
  Scratch workspace_;
  std::size_t workspace_bytes_;
};

Error nothing_found(DataType type, const GemmShape& shape, const Gpu& gpu) {
  return unsupported(fmt::format("cuBLASLt {} has no algorithm for {} x {} x {} in {} on compute capability {}.{}",
                                 cublas_version(cublasLtGetVersion()), shape.m, shape.n, shape.k, to_string(type),
                                 gpu.capability / 10, gpu.capability % 10));
}

Choice made_of(const cublasLtMatmulHeuristicResult_t& result, std::size_t candidates, bool tried) {
  return {.algorithm = result.algo,
          .workspace_bytes = result.workspaceSize,
          .waves = result.wavesCount,
          .candidates = static_cast<int>(candidates),
          .tried = tried};
}

// The fastest candidate; the library's first where a trial would take long or much memory.
Choice find_best(const Problem& problem, const Gpu& gpu, DataType type, const GemmShape& shape) {
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &all_bytes));
  const std::size_t operands = problem.a_bytes() + problem.b_bytes() + problem.c_bytes();
  if (operands > all_bytes)
    throw unsupported(fmt::format("memory: the matrices take {:.1f} GiB and this GPU has {:.1f} GiB",
                                  static_cast<double>(operands) / (1 << 30),
                                  static_cast<double>(all_bytes) / (1 << 30)));
  const std::size_t workspace_bytes = std::min(workspace_wanted, free_bytes / 16 / 256 * 256);
  const std::vector<cublasLtMatmulHeuristicResult_t> candidates =
      problem.candidates(workspace_bytes, candidates_wanted);
  if (candidates.empty()) throw nothing_found(type, shape, gpu);
  if (candidates.size() == 1 || operands + workspace_bytes > free_bytes / 2)
    return made_of(candidates[0], candidates.size(), false);
  Trial trial(problem, gpu, workspace_bytes);
  const cublasLtMatmulHeuristicResult_t* best = nullptr;
  double best_seconds = 0;
  for (const auto& candidate : candidates) {
    const std::optional<double> seconds = trial.seconds(candidate);
    if (!seconds) continue;
    if (best == nullptr || *seconds < best_seconds) {
      best = &candidate;
      best_seconds = *seconds;
    }
    if (*seconds > too_slow_to_try_seconds) break;
  }
  if (best == nullptr) throw nothing_found(type, shape, gpu);
  return made_of(*best, candidates.size(), true);
}

}  // namespace

Choice choose(const Problem& problem, const Gpu& gpu, DataType type, const GemmShape& shape) {
  const Choices::Key key = {gpu.facts.name, gpu.facts.compute_units, type, shape.m, shape.n, shape.k};
  if (const std::optional<Choice> made = Choices::all().find(key)) return *made;
  const Choice choice = find_best(problem, gpu, type, shape);
  Choices::all().keep(key, choice);
  return choice;
}

}  // namespace claimcheck::kernels::cuda
