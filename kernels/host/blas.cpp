#include "kernels/host/blas.h"

#include <cblas.h>
#include <fmt/format.h>

#include <condition_variable>
#include <limits>
#include <mutex>
#include <sstream>

#include "kernels/host/buffer.h"
#include "kernels/host/stream.h"
#include "kernels/host/team.h"

namespace claimcheck::kernels::host {

namespace {

// OpenBLAS has one thread count for the whole process. Calls that want the same count run side by side; one that wants
// another waits until no call is under way, because changing the count then would pull threads from under it.
class ThreadCount {
 public:
  void acquire(int threads) {
    std::unique_lock lock(mutex_);
    none_running_.wait(lock, [&] { return running_ == 0 || current_ == threads; });
    // An OpenMP build keeps the count per calling thread besides, so each caller sets it once.
    thread_local int set_here = 0;
    if (current_ != threads || set_here != threads) openblas_set_num_threads(threads);
    set_here = current_ = threads;
    ++running_;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) none_running_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_running_;
  int current_ = 0;
  int running_ = 0;
};

ThreadCount& thread_count() {
  static ThreadCount count;
  return count;
}

class WithThreads {
 public:
  explicit WithThreads(int threads) { thread_count().acquire(threads); }
  ~WithThreads() { thread_count().release(); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;
};

// A is stored with its rows contiguous, which is the transpose of a column-major matrix.
void multiply(const GemmShape& shape, const double* a, const double* b, double* c) {
  const auto m = static_cast<int>(shape.m);
  const auto n = static_cast<int>(shape.n);
  const auto k = static_cast<int>(shape.k);
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, 1.0, a, k, b, k, 0.0, c, m);
}

void multiply(const GemmShape& shape, const float* a, const float* b, float* c) {
  const auto m = static_cast<int>(shape.m);
  const auto n = static_cast<int>(shape.n);
  const auto k = static_cast<int>(shape.k);
  cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, 1.0F, a, k, b, k, 0.0F, c, m);
}

template <class Value>
class BlasGemm final : public Gemm {
 public:
  BlasGemm(DataType type, const GemmShape& shape, std::vector<int> cores, std::vector<int> all_cpus)
      : type_(type), shape_(shape), cores_(std::move(cores)), all_cpus_(std::move(all_cpus)) {}

  void enqueue(Stream& stream, Slice a, Slice b, Slice c) override {
    host(stream).enqueue([shape = shape_, cores = cores_, cpus = all_cpus_, a = matrix(a, "A", shape_.m * shape_.k),
                          b = matrix(b, "B", shape_.k * shape_.n),
                          c = matrix(c, "C", shape_.m * shape_.n)](const std::stop_token&) {
      cores.size() == 1 ? pin_this_thread(cores.front()) : unpin_this_thread(cpus);
      const WithThreads set(static_cast<int>(cores.size()));
      multiply(shape, a.template as<Value>(), b.template as<Value>(), c.template as<Value>());
    });
  }

  DataType output_type() const override { return type_; }

  Facts facts() const override {
    const BlasFacts& blas = blas_facts();
    return {{"library", "OpenBLAS"},
            {"version", blas.version},
            {"core", blas.core},
            {"threads", static_cast<std::int64_t>(cores_.size())},
            {"algorithm", sizeof(Value) == 8 ? "cblas_dgemm" : "cblas_sgemm"}};
  }

 private:
  static Region matrix(const Slice& slice, const char* name, std::int64_t elements) {
    const std::size_t wanted = static_cast<std::size_t>(elements) * sizeof(Value);
    if (slice.size_bytes < wanted)
      throw Error({.outcome = Outcome::failed,
                   .library = "claimcheck",
                   .code = {},
                   .text = fmt::format("matrix {} needs {} bytes and its slice has {}", name, wanted, slice.size_bytes),
                   .remedy = {}});
    return region_of(slice, name);
  }

  DataType type_;
  GemmShape shape_;
  std::vector<int> cores_;
  std::vector<int> all_cpus_;
};

std::string version_in(const std::string& config) {
  std::istringstream words(config);
  std::string name;
  std::string version;
  words >> name >> version;
  return version;
}

}  // namespace

const BlasFacts& blas_facts() {
  static const BlasFacts facts = [] {
    const std::string config = openblas_get_config();
    const int parallel = openblas_get_parallel();
    const char* const threading =
        parallel == OPENBLAS_SEQUENTIAL ? "none" : (parallel == OPENBLAS_THREAD ? "threads" : "OpenMP");
    return BlasFacts{version_in(config), openblas_get_corename(), config, threading};
  }();
  return facts;
}

void multiply_rows(const Product& p, const float* a, const float* b, float* c, const std::vector<int>& cores,
                   const std::vector<int>& all_cpus) {
  cores.size() == 1 ? pin_this_thread(cores.front()) : unpin_this_thread(all_cpus);
  const WithThreads set(static_cast<int>(cores.size()));
  const auto leading = [](std::int64_t given, std::int64_t dense) {
    return static_cast<int>(given == 0 ? dense : given);
  };
  for (std::int64_t i = 0; i < p.batch; ++i)
    cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans, p.transpose_b ? CblasTrans : CblasNoTrans,
                static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k), p.alpha, a + i * p.stride_a,
                leading(p.leading_a, p.transpose_a ? p.m : p.k), b + i * p.stride_b,
                leading(p.leading_b, p.transpose_b ? p.k : p.n), p.accumulate ? 1.0F : 0.0F, c + i * p.stride_c,
                leading(p.leading_c, p.n));
}

std::unique_ptr<Gemm> make_blas_gemm(DataType type, const GemmShape& shape, std::vector<int> cores,
                                     std::vector<int> all_cpus) {
  constexpr std::int64_t largest = std::numeric_limits<int>::max();
  for (const std::int64_t size : {shape.m, shape.n, shape.k})
    if (size < 1 || size > largest)
      throw unsupported(fmt::format("a matrix product of {} x {} x {} is outside what OpenBLAS takes: 1 to {} each",
                                    shape.m, shape.n, shape.k, largest));
  if (type == DataType::fp64)
    return std::make_unique<BlasGemm<double>>(type, shape, std::move(cores), std::move(all_cpus));
  if (type == DataType::fp32)
    return std::make_unique<BlasGemm<float>>(type, shape, std::move(cores), std::move(all_cpus));
  if (type == DataType::tf32) throw unsupported("tf32 is a format of NVIDIA GPUs; the CPU multiplies fp32 and fp64");
  throw unsupported(fmt::format("OpenBLAS {} on this CPU multiplies fp64 and fp32 only", blas_facts().version));
}

}  // namespace claimcheck::kernels::host
