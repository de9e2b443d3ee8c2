// The reference that the triad of kernels/host is compared with: what a user gets who writes the loop as BabelStream
// does and lets the compiler do the rest (-O3 -march=native -fopenmp). Prints one JSON object.
//   reference_triad [MIB_PER_ARRAY] [REPETITIONS]
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

struct Free {
  void operator()(double* array) const { std::free(array); }
};

std::unique_ptr<double[], Free> allocate(std::size_t count) {
  constexpr std::size_t alignment = std::size_t{2} << 20;  // as BabelStream: whole 2 MiB pages
  return std::unique_ptr<double[], Free>(
      static_cast<double*>(std::aligned_alloc(alignment, (count * sizeof(double) / alignment + 1) * alignment)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 128;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 50;
  const std::size_t count = (mib << 20) / sizeof(double);
  if (count == 0 || repetitions < 1) {
    std::fprintf(stderr, "usage: reference_triad [MIB_PER_ARRAY] [REPETITIONS], both at least 1\n");
    return 2;
  }
  const auto own_a = allocate(count);
  const auto own_b = allocate(count);
  const auto own_c = allocate(count);
  if (!own_a || !own_b || !own_c) {
    std::fprintf(stderr, "no memory for three arrays of %zu MiB\n", mib);
    return 1;
  }
  double* const a = own_a.get();
  double* const b = own_b.get();
  double* const c = own_c.get();
#pragma omp parallel for
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = 0.1;
    b[i] = 0.2;
    c[i] = 0.0;
  }
  const double scalar = 0.4;
  std::vector<double> seconds;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for
    for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + scalar * b[i];
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (repetition > 0) seconds.push_back(elapsed.count());  // the first one warms up
  }
  const double expected = 0.1 + scalar * 0.2;
  for (std::size_t i = 0; i < count; ++i)
    if (c[i] < expected - 1e-12 || c[i] > expected + 1e-12) {
      std::fprintf(stderr, "element %zu is %g and should be %g\n", i, c[i], expected);
      return 1;
    }
  std::sort(seconds.begin(), seconds.end());
  const double gigabytes = 3.0 * static_cast<double>(count) * sizeof(double) / 1e9;
  std::printf(R"({"kernel": "triad", "bytes_per_array": %zu, "threads": %d, "repetitions": %d, )", count * 8,
              omp_get_max_threads(), repetitions);
  std::printf(R"("median_gbps": %.3f, "best_gbps": %.3f})", gigabytes / seconds[seconds.size() / 2],
              gigabytes / seconds.front());
  std::printf("\n");
}
