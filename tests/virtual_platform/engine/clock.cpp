#include "tests/virtual_platform/engine/clock.h"

#include <atomic>

namespace virtual_platform {

namespace {

thread_local double now = 0;
std::atomic<double> latest = 0;

void move_to(double time) {
  now = time;
  double seen = latest.load(std::memory_order_relaxed);
  while (seen < time && !latest.compare_exchange_weak(seen, time)) {
  }
}

}  // namespace

double host_now() { return now; }
void host_advance(double seconds) { move_to(now + seconds); }
void host_join(double time) {
  if (time > now) move_to(time);
}
double latest_host_time() { return latest.load(); }

}  // namespace virtual_platform
