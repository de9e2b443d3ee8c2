#include "harness/judge/transport_verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/evidence/bus_limit.h"
#include "harness/evidence/transport.h"
#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/transport_advice.h"
#include "harness/report/quantity.h"
#include "harness/scale/links.h"

namespace claimcheck {
namespace {

using nlohmann::json;

struct Seen {
  const Measurement* measurement = nullptr;
  Transport transport;
};

// Of every collective that worked, in their order; those of several nodes, or of one.
std::vector<Seen> transports(const Document& document, bool several_nodes) {
  std::vector<Seen> seen;
  for (const Measurement& measurement : document.measurements) {
    if (!measurement.value || measurement.estimate) continue;
    auto transport = transport_of(document, measurement);
    if (transport && (transport->nodes > 1) == several_nodes) seen.push_back({&measurement, std::move(*transport)});
  }
  return seen;
}

Claim claim_of(const Platform& platform, const char* metric, const std::string& value) {
  Claim claim;
  claim.id = fmt::format("platform:{}:{}", platform.id, metric);
  claim.metric = metric;
  claim.comparison = "==";
  claim.value = value;
  claim.definition = {{"comparison", "claim"}, {"platform", platform.id}};
  return claim;
}

// Which of two is the more telling: the worse way, then the faster case (what the way costs is said of the best).
bool tells_more(const Seen& a, const Seen& b) {
  const Way way_a = way_between(a.transport);
  const Way way_b = way_between(b.transport);
  if (way_a != way_b) return way_a < way_b;
  const bool busbw_a = a.measurement->metric == "allreduce.busbw.gbps";
  const bool busbw_b = b.measurement->metric == "allreduce.busbw.gbps";
  return busbw_a != busbw_b ? busbw_a : *a.measurement->value > *b.measurement->value;
}

// "all-reduce reached 3.9 GB/s, of at most 750 GB/s on the promised links (0.5 %)"
std::string cost_text(const Document& document, const Measurement& measurement, const Catalog& catalog) {
  const auto limit = expected_bus(document, measurement, catalog);
  if (!limit) return {};
  return fmt::format("; {} reached {}, of at most {} on the promised links ({})", measurement.id,
                     quantity_text(*measurement.value, measurement.unit), quantity_text(limit->gbps, "GB/s"),
                     share_text(*measurement.value / limit->gbps));
}

std::optional<VerdictKind> judged(Network promised, Way way, const Document& document) {
  if (way == Way::unknown || way == Way::other || way == Way::nvlink) return std::nullopt;
  if (way == Way::libfabric) return promised == Network::efa ? VerdictKind::inconclusive : VerdictKind::not_met;
  bool met = false;
  if (promised == Network::efa) met = way == Way::efa;
  if (promised == Network::tcpx) met = way == Way::tcpx;
  if (promised == Network::infiniband) met = way == Way::verbs && !only_adapters(document, "roce");
  if (promised == Network::roce) met = way == Way::verbs;
  return met ? VerdictKind::met : VerdictKind::not_met;
}

void judge_network(const Document& document, const Catalog& catalog, Verdict& verdict) {
  const std::string sold = value_text(verdict.claim.value);
  std::vector<Seen> seen = transports(document, true);
  if (seen.empty()) {
    const bool several = std::any_of(
        document.measurements.begin(), document.measurements.end(),
        [](const Measurement& one) { return one.value && number_at(one.conditions, "/nodes").value_or(1) > 1; });
    verdict.reason = several
                         ? "the result does not say what NCCL used between the nodes (its log at NCCL_DEBUG=INFO does)"
                         : "one node was measured; what lies between nodes shows only with several (--launcher)";
    return;
  }
  const Seen& worst = *std::min_element(seen.begin(), seen.end(), tells_more);
  const Way way = way_between(worst.transport);
  const Network promised = network_of(sold);
  const auto kind = judged(promised, way, document);
  if (!kind) {
    verdict.reason = way == Way::nvlink
                         ? "the nodes reached each other by NVLink, so the network was not used"
                         : "the result does not say what NCCL used between the nodes (its log at NCCL_DEBUG=INFO does)";
    return;
  }
  verdict.kind = *kind;
  verdict.attained = std::string(to_string(way));
  verdict.measurement_id = worst.measurement->id;
  std::string platform = text_at(verdict.claim.definition, "platform");
  if (platform.empty()) platform = "the seller";
  if (*kind == VerdictKind::met) {
    verdict.reason = fmt::format("NCCL used {} between the nodes ({})", to_string(way),
                                 worst.transport.network.empty() ? sold : worst.transport.network);
    return;
  }
  if (*kind == VerdictKind::inconclusive) {
    verdict.reason = "NCCL used the plug-in for libfabric, and the result does not say by which provider";
    verdict.diagnosis = {
        "With provider efa it is EFA, with tcp it is not. -> NCCL_DEBUG=INFO says 'Selected provider is'."};
    return;
  }
  verdict.reason = fmt::format("NCCL between the nodes went over {} though {} promises {}{}", to_string(way), platform,
                               sold, cost_text(document, *worst.measurement, catalog));
  verdict.diagnosis = network_advice(document, worst.transport, way, promised);
}

// A GPU that does not reach another's memory, where the links were tried one by one.
const Measurement* through_host(const Document& document) {
  for (const Measurement& measurement : document.measurements) {
    if (!measurement.metric.starts_with("p2p.")) continue;
    const json access = measurement.evidence.value("access", json());
    if (access.is_array() && access.dump().find("through_host") != std::string::npos) return &measurement;
    if (measurement.evidence.value("peer_access", json()) == false) return &measurement;
  }
  return nullptr;
}

enum class Proof { nvlink, pcie, none };

// Peer access goes over NVLink or PCIe; what the devices say, what pairs used, or a rate that only NVLink has.
Proof kind_of_peer_access(const Document& document) {
  bool counted = false;
  for (const json& device : document.system.value("devices", json::array())) {
    const auto active = number_at(device, "/facts/nvlink_links_active");
    if (active && *active == 0) return Proof::pcie;
    counted = counted || (active && *active > 0);
  }
  for (const Measurement& measurement : document.measurements) {
    const std::string link = text_at(measurement.conditions, "link");
    if (measurement.metric.starts_with("p2p.") && link == "pcie") return Proof::pcie;
    if (measurement.metric.starts_with("p2p.") && link == "nvlink") return Proof::nvlink;
  }
  if (counted) return Proof::nvlink;
  constexpr double above_pcie5 = 64;  // GB/s one way, x16
  for (const Measurement& measurement : document.measurements) {
    const bool inside = number_at(measurement.conditions, "/nodes").value_or(1) <= 1;
    if (inside && measurement.usable() && measurement.metric == "allreduce.busbw.gbps" &&
        *measurement.value > above_pcie5)
      return Proof::nvlink;
  }
  return Proof::none;
}

void miss_inside(const Measurement& measurement, const std::string& attained, const std::string& reason,
                 const std::string& advice, Verdict& verdict) {
  verdict.kind = VerdictKind::not_met;
  verdict.attained = attained;
  verdict.measurement_id = measurement.id;
  verdict.reason = reason;
  verdict.diagnosis = {advice};
}

void judge_inside(const Document& document, const Catalog& catalog, Verdict& verdict) {
  const std::string sold = value_text(verdict.claim.value);
  const Seen* peer = nullptr;
  std::vector<Seen> seen = transports(document, false);
  for (Seen& more : transports(document, true)) seen.push_back(std::move(more));
  for (const Seen& one : seen) {
    if (uses_host_memory(one.transport))
      return miss_inside(*one.measurement, "host memory",
                         fmt::format("NCCL inside a node went through the host's memory (SHM) though {} was promised{}",
                                     sold, cost_text(document, *one.measurement, catalog)),
                         inside_advice(document), verdict);
    if (peer == nullptr && uses_peer_access(one.transport)) peer = &one;
  }
  if (const Measurement* copies = through_host(document))
    return miss_inside(*copies, "host memory",
                       fmt::format("copies between some GPUs go by way of the host though {} was promised", sold),
                       inside_advice(document), verdict);
  if (peer == nullptr) {
    verdict.reason = "the result does not say how the GPUs of a node reached each other";
    return;
  }
  const Proof proof = kind_of_peer_access(document);
  if (proof == Proof::pcie)
    return miss_inside(*peer->measurement, "PCIe",
                       fmt::format("the GPUs of a node reach each other over PCIe though {} was promised", sold),
                       inside_advice(document), verdict);
  verdict.measurement_id = peer->measurement->id;
  verdict.attained = proof == Proof::nvlink ? "NVLink" : "peer access";
  verdict.kind = proof == Proof::nvlink ? VerdictKind::met : VerdictKind::inconclusive;
  verdict.reason = proof == Proof::nvlink ? "the GPUs reach each other over NVLink, as NCCL and the devices say"
                                          : "NCCL used peer access, which is NVLink or PCIe; the result does not say";
}

bool nvlink_for_all(const Platform& platform) {
  const std::string inside = text_at(platform.record, "intra_node");
  return inside.find("NVSwitch") != std::string::npos ||
         (inside.starts_with("NVLink") && inside.find("bridge") == std::string::npos);
}

Finding gpu_direct_finding(const Document& document, const Catalog& catalog, const Platform& platform,
                           const Seen& seen) {
  Finding finding;
  finding.id = "transport.gpu_direct";
  finding.severity = "warning";
  finding.text = fmt::format(
      "NCCL used {} without GPUDirect RDMA: data between nodes goes through the host's memory, though {} is sold "
      "with it{}.",
      to_string(way_between(seen.transport)), platform.id, cost_text(document, *seen.measurement, catalog));
  finding.next_step = gpu_direct_advice(network_of(text_at(platform.record, "network_kind")));
  finding.evidence = {{"id", seen.measurement->id}, {"group", seen.measurement->evidence["group"]}};
  return finding;
}

Finding nvls_finding(const Seen& seen) {
  Finding finding;
  finding.id = "transport.nvls";
  finding.severity = "info";
  finding.text =
      "NVLS is not at hand: the NVSwitches of these GPUs could add up an all-reduce, and NCCL does not let them. It "
      "goes in rings, about a quarter slower for large messages.";
  finding.next_step =
      "Check that nvidia-fabricmanager runs and matches the driver, that NCCL is 2.17 or newer and NCCL_NVLS_ENABLE is "
      "not 0; virtual machines and containers may not pass multicast on.";
  finding.evidence = {{"id", seen.measurement->id}, {"group", seen.measurement->evidence["group"]}};
  return finding;
}

}  // namespace

std::vector<Claim> transport_claims(const Platform& platform) {
  std::vector<Claim> claims;
  const std::string network = text_at(platform.record, "network_kind");
  if (network_of(network) != Network::none) claims.push_back(claim_of(platform, "transport.network", network));
  if (nvlink_for_all(platform) && platform.accelerator_count.value_or(0) > 1)
    claims.push_back(claim_of(platform, "transport.inside_node", text_at(platform.record, "intra_node")));
  return claims;
}

Verdict transport_verdict(const Document& document, const Claim& claim, const Catalog& catalog) {
  Verdict verdict;
  verdict.claim = claim;
  if (claim.metric == "transport.network") {
    judge_network(document, catalog, verdict);
  } else if (claim.metric == "transport.inside_node") {
    judge_inside(document, catalog, verdict);
  } else {
    verdict.reason = "nothing here looks at this";
  }
  return verdict;
}

std::vector<Finding> transport_findings(const Document& document, const Catalog& catalog) {
  std::vector<Finding> findings;
  const Platform* platform = platform_of(document, catalog);
  if (platform == nullptr) return findings;
  if (promises_gpu_direct(*platform)) {
    for (const Seen& seen : transports(document, true)) {
      const Way way = way_between(seen.transport);
      if (way != Way::efa && way != Way::verbs) continue;  // sockets are the claim's business
      if (seen.transport.gpu_direct.value_or(true) || seen.measurement->metric.find(".busbw.") == std::string::npos)
        continue;
      findings.push_back(gpu_direct_finding(document, catalog, *platform, seen));
      break;
    }
  }
  const Accelerator* accelerator = catalog.find_accelerator(platform->accelerator);
  if (accelerator == nullptr || !scale::switch_adds(*accelerator) || !nvlink_for_all(*platform)) return findings;
  for (const Seen& seen : transports(document, false)) {
    if (seen.transport.nvls.value_or(true) || !seen.measurement->metric.starts_with("allreduce.")) continue;
    findings.push_back(nvls_finding(seen));
    break;
  }
  return findings;
}

}  // namespace claimcheck
