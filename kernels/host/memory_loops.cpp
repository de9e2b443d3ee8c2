// The baseline kernels (SSE2 on x86-64, plain loops elsewhere) and the choice among the sets.
#include "kernels/host/memory_loops.h"

#include <cstdint>
#include <cstring>

#include "kernels/host/memory_loops_body.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace claimcheck::kernels::host {

#if defined(CLAIMCHECK_X86_LOOPS)
extern const MemoryLoops avx512_loops;
extern const MemoryLoops avx2_loops;
#endif

namespace {

#if defined(__SSE2__)
struct Baseline {
  using Type = __m128d;
  static constexpr std::size_t width = 2;
  static constexpr const char* isa = "sse2";
  static Type all(double x) { return _mm_set1_pd(x); }
  static Type load(const double* p) { return _mm_loadu_pd(p); }
  static void store(double* p, Type x) { _mm_storeu_pd(p, x); }
  static void stream(double* p, Type x) { _mm_stream_pd(p, x); }
  static void fence() { _mm_sfence(); }
};
#else
// Left to the compiler's vectoriser; stores bypass nothing.
struct Baseline {
  using Type = double;
  static constexpr std::size_t width = 1;
  static constexpr const char* isa = "plain";
  static Type all(double x) { return x; }
  static Type load(const double* p) { return *p; }
  static void store(double* p, Type x) { *p = x; }
  static void stream(double* p, Type x) { *p = x; }
  static void fence() {}
};
#endif

const MemoryLoops baseline_loops = loops_of<Baseline>(Baseline::isa);

std::vector<const MemoryLoops*> choose() {
  std::vector<const MemoryLoops*> usable;
#if defined(CLAIMCHECK_X86_LOOPS)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) usable.push_back(&avx512_loops);
  if (__builtin_cpu_supports("avx2")) usable.push_back(&avx2_loops);
#endif
  usable.push_back(&baseline_loops);
  return usable;
}

}  // namespace

const std::vector<const MemoryLoops*>& usable_memory_loops() {
  static const std::vector<const MemoryLoops*> usable = choose();
  return usable;
}

void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes, bool bypass) {
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(target) % 8 == 0 && reinterpret_cast<std::uintptr_t>(source) % 8 == 0;
  std::size_t done = 0;
  if (bypass && aligned) {
    done = bytes / 8 * 8;
    memory_loops().copy(reinterpret_cast<const double*>(source), reinterpret_cast<double*>(target), bytes / 8, true);
  }
  if (done < bytes) std::memcpy(target + done, source + done, bytes - done);
}

}  // namespace claimcheck::kernels::host
