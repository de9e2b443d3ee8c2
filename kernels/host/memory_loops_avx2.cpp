// Memory kernels for CPUs with AVX2; CMakeLists.txt gives the compiler the option for this file alone.
#if defined(__AVX2__)

#include <immintrin.h>

#include "kernels/host/memory_loops_body.h"

namespace claimcheck::kernels::host {
namespace {

struct Avx2 {
  using Type = __m256d;
  static constexpr std::size_t width = 4;
  static Type all(double x) { return _mm256_set1_pd(x); }
  static Type load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Type x) { _mm256_storeu_pd(p, x); }
  static void stream(double* p, Type x) { _mm256_stream_pd(p, x); }
  static void fence() { _mm_sfence(); }
};

}  // namespace

extern const MemoryLoops avx2_loops;
const MemoryLoops avx2_loops = loops_of<Avx2>("avx2");

}  // namespace claimcheck::kernels::host

#endif
