// The reference that the matrix products of kernels/host are compared with: a bare loop around cblas_dgemm and
// cblas_sgemm, in the same layout (A transposed), with OpenBLAS left as it comes. Prints one JSON object.
//   reference_gemm fp64|fp32 [N] [REPETITIONS] [THREADS]
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

void multiply(int n, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, n, n, 1.0, a, n, b, n, 0.0, c, n);
}

void multiply(int n, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, n, n, 1.0F, a, n, b, n, 0.0F, c, n);
}

template <class Value>
void measure(const std::string& type, int n, int repetitions) {
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<Value> a(size);
  std::vector<Value> b(size);
  std::vector<Value> c(size);
  std::mt19937_64 generator(1);
  std::normal_distribution<Value> normal;
  for (Value& x : a) x = normal(generator);
  for (Value& x : b) x = normal(generator);
  std::vector<double> seconds;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    multiply(n, a.data(), b.data(), c.data());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (repetition > 0) seconds.push_back(elapsed.count());  // the first one warms up
  }
  std::sort(seconds.begin(), seconds.end());
  const double tera = 2.0 * n * static_cast<double>(n) * n / 1e12;
  std::printf(R"({"type": "%s", "n": %d, "threads": %d, "repetitions": %d, )", type.c_str(), n,
              openblas_get_num_threads(), repetitions);
  std::printf(R"("median_tflops": %.5f, "best_tflops": %.5f})", tera / seconds[seconds.size() / 2],
              tera / seconds.front());
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string type = argc > 1 ? argv[1] : "";
  const int n = argc > 2 ? std::atoi(argv[2]) : 2048;
  const int repetitions = argc > 3 ? std::atoi(argv[3]) : 10;
  const int threads = argc > 4 ? std::atoi(argv[4]) : openblas_get_num_threads();
  if ((type != "fp64" && type != "fp32") || n < 1 || repetitions < 1 || threads < 1) {
    std::fprintf(stderr, "usage: reference_gemm fp64|fp32 [N] [REPETITIONS] [THREADS], numbers at least 1\n");
    return 2;
  }
  if (argc > 4) openblas_set_num_threads(threads);
  type == "fp64" ? measure<double>(type, n, repetitions) : measure<float>(type, n, repetitions);
}
