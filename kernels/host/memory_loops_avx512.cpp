// Memory kernels for CPUs with AVX-512 (F and DQ); CMakeLists.txt gives the compiler the options for this file alone.
#if defined(__AVX512F__)

#include <immintrin.h>

#include "kernels/host/memory_loops_body.h"

namespace claimcheck::kernels::host {
namespace {

struct Avx512 {
  using Type = __m512d;
  static constexpr std::size_t width = 8;
  static Type all(double x) { return _mm512_set1_pd(x); }
  static Type load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, Type x) { _mm512_storeu_pd(p, x); }
  static void stream(double* p, Type x) { _mm512_stream_pd(p, x); }
  static void fence() { _mm_sfence(); }
};

}  // namespace

extern const MemoryLoops avx512_loops;
const MemoryLoops avx512_loops = loops_of<Avx512>("avx512f");

}  // namespace claimcheck::kernels::host

#endif
