// The network of a node: how much its adapters carry, and what a step over it costs.
#include <fmt/format.h>

#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/scale/parts.h"

namespace claimcheck::scale {
namespace {

struct Kind {
  double share;    // of the line rate that RDMA carries
  double seconds;  // of a step, beyond NCCL's own figure for networks
  const char* why;
};

// Shares: raw RDMA against the line rate; docs/scaling.md names each. Steps: `latency` of the aws-ofi-nccl plugin's
// platform-aws.cpp, the figure NCCL plans with on EFA; it takes InfiniBand's as in its own table.
Kind kind_of(const std::string& kind, double gbit, double adapters) {
  const double each = adapters > 0 ? gbit / adapters : gbit;
  if (kind == "EFA" && each <= 100 && adapters <= 4) return {0.85, 75e-6, "first EFA: 340 of 400 Gb/s measured"};
  if (kind == "EFA" && each <= 100) return {0.97, 75e-6, "EFA: 193.7 of 200 Gb/s measured on the next generation"};
  if (kind == "EFA") return {0.97, 35e-6, "EFA: 193.7 of 200 Gb/s measured"};
  if (kind.starts_with("InfiniBand")) return {0.98, 0, "InfiniBand: 391 of 400 Gb/s measured"};
  return {0.90, 0, "no raw rate is known of this network: 90 % taken"};
}

}  // namespace

void add_network(const Platform* platform, std::optional<double> gbit, Machine& machine) {
  Fabric& fabric = machine.fabric;
  const std::string kind_name = platform == nullptr ? "" : text_at(platform->record, "network_kind");
  const auto listed = platform == nullptr ? std::nullopt : platform->network_gbps;
  if (!gbit && !listed) return;
  const double line = gbit ? *gbit : *listed;
  const double adapters = platform == nullptr ? 0 : number_at(platform->record, "/network_nics").value_or(0);
  const Kind kind = kind_of(kind_name, line, adapters);
  fabric.network_rate = line * 1e9 / 8 * kind.share;
  fabric.network_seconds = kind.seconds;
  machine.facts.push_back(
      rate_fact("network of a node, one way", *fabric.network_rate,
                fmt::format("{} Gb/s{}{} x {:.0f} % ({})", exact_text(line), gbit ? " (--network)" : "",
                            kind_name.empty() ? "" : " " + kind_name, kind.share * 100, kind.why),
                true));
  if (kind.seconds > 0) {
    machine.facts.push_back({"a step between nodes, beyond NCCL's figure", kind.seconds * 1e6, "us",
                             "what its EFA plugin tells NCCL", true});
  }
}

}  // namespace claimcheck::scale
