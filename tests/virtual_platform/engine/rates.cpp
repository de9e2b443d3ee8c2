// Rates and durations from the spec.
#include <algorithm>

#include "tests/virtual_platform/engine/engine.h"

namespace virtual_platform {

namespace {

double seconds_for(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

// How many GPUs on this one's uplink move data in the same direction, itself included; 0: it shares none.
int sharers(const Flow& flow, double start, bool to_device) {
  const int mine = to_device ? flow.to : flow.from;
  for (const std::vector<int>& group : spec().pcie.uplinks) {
    if (std::find(group.begin(), group.end(), device(mine).machine_index) == group.end()) continue;
    int count = 1;
    for (int other = 0; other < device_count(); ++other) {
      const bool member = std::find(group.begin(), group.end(), device(other).machine_index) != group.end();
      if (other == mine || !member) continue;
      if (scheduler().at_work(to_device ? Flow{host, other} : Flow{other, host}, start)) ++count;
    }
    return count;
  }
  return 0;
}

double host_flow_gbps(const Flow& flow, double start) {
  const Pcie& pcie = spec().pcie;
  const bool to_device = flow.from == host;
  const double own = to_device ? pcie.h2d_gbps : pcie.d2h_gbps;
  double rate = own;
  if (pcie.bidirectional_gbps > 0 && scheduler().at_work({flow.to, flow.from}, start))
    rate = std::min(rate, pcie.bidirectional_gbps / 2);
  const int sharing = sharers(flow, start, to_device);
  if (sharing > 1) rate = std::min(rate, (pcie.uplink_gbps > 0 ? pcie.uplink_gbps : own) / sharing);
  return rate;
}

}  // namespace

double flow_gbps(const Flow& flow, double start) {
  const std::lock_guard lock(engine_mutex());
  if (flow.from == host || flow.to == host) return host_flow_gbps(flow, start);
  double rate = link_gbps(flow.to, flow.from);
  // Without peer access data goes through the host's memory, over two of its links.
  if (rate <= 0) return std::min(host_flow_gbps({flow.from, host}, start), host_flow_gbps({host, flow.to}, start)) / 2;
  const double both = spec().links.bidirectional_gbps;
  if (both > 0 && scheduler().at_work({flow.to, flow.from}, start)) rate = std::min(rate, both / 2);
  return rate;
}

double kernel_seconds(int index, const KernelCost& cost, double start) {
  const Gpu& gpu = *device(index).gpu;
  const bool in_l2 = cost.footprint_bytes > 0 && cost.footprint_bytes <= gpu.l2_kib * 1024 && gpu.l2_gbps > 0;
  double seconds = std::max({spec().times.kernel_floor_us * 1e-6, cost.latency_seconds,
                             seconds_for(cost.memory_bytes, (in_l2 ? gpu.l2_gbps : gpu.memory_gbps) * 1e9),
                             seconds_for(cost.flop, cost.tflops * 1e12)});
  const auto over = [&](double bytes, const Flow& flow, double limit) {
    if (bytes <= 0) return;
    const double gbps = flow_gbps(flow, start);
    seconds = std::max(seconds, seconds_for(bytes, (limit > 0 ? std::min(limit, gbps) : gbps) * 1e9));
  };
  over(cost.host_bytes_read, {host, index}, spec().pcie.kernel_gbps);
  over(cost.host_bytes_written, {index, host}, spec().pcie.kernel_gbps);
  for (std::size_t peer = 0; peer < cost.peer_bytes_read.size(); ++peer)
    over(cost.peer_bytes_read[peer], {static_cast<int>(peer), index}, 0);
  for (std::size_t peer = 0; peer < cost.peer_bytes_written.size(); ++peer)
    over(cost.peer_bytes_written[peer], {index, static_cast<int>(peer)}, 0);
  return seconds;
}

}  // namespace virtual_platform
