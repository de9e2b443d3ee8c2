#include "harness/judge/identity_links.h"

#include <fmt/format.h>

#include <cstdlib>

#include "harness/judge/link_rates.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

Verdict opened(const Claim& claim, std::string reason) {
  Verdict verdict;
  verdict.claim = claim;
  verdict.reason = std::move(reason);
  return verdict;
}

void decide(Verdict& verdict, double here, std::string reason) {
  verdict.kind = here >= verdict.claim.value.get<double>() * (1 - 1e-9) ? VerdictKind::met : VerdictKind::contradicted;
  verdict.attained = here;
  verdict.reason = std::move(reason);
}

// Of the GPU with the fewest active links.
struct Joined {
  double index = 0, links = 0, active = 0, gbps = 0;
};

// Of one link, one way: by its version, else by what an imported topology tells of it.
double link_gbps(const json& device) {
  const double version = std::atof(text_at(device.value("facts", json::object()), "nvlink_version").c_str());
  return version >= 1 ? nvlink_link_gbps(version) : number_at(device, "/facts/nvlink_link_gbps").value_or(0);
}

std::optional<Joined> least_joined(const Document& document) {
  std::optional<Joined> least;
  for (const json& device : document.system.value("devices", json::array())) {
    const auto active = number_at(device, "/facts/nvlink_links_active");
    const double gbps = link_gbps(device);
    if (!active || (!(gbps > 0) && *active > 0)) continue;  // of no link the rate does not matter
    const double links = number_at(device, "/facts/nvlink_links").value_or(*active);
    if (!least || *active < least->active)
      least = Joined{number_at(device, "/index").value_or(0), links, *active, gbps};
  }
  return least;
}

// RDMA adapters that the probe saw.
struct Adapters {
  int count = 0;
  int without_rate = 0;
  double gbit = 0;
};

Adapters adapters_of(const Document& document) {
  Adapters found;
  for (const json& nic : document.system.value("nics", json::array())) {
    if (text_at(nic, "kind") == "ethernet" || text_at(nic, "state") == "down") continue;
    ++found.count;
    const double rate = number_at(nic, "/speed_gbps").value_or(0);
    found.gbit += rate;
    if (!(rate > 0)) ++found.without_rate;
  }
  return found;
}

// The driver writes 4X EDR, 100 Gb/s, for adapters of any rate.
Verdict efa_verdict(const Claim& claim, const Adapters& seen) {
  const auto sold = number_at(claim.definition, "/adapters");
  if (!sold)
    return opened(claim, "an EFA adapter does not say its rate; two nodes and perftest measure it (network.efa)");
  if (seen.count >= *sold) {
    return opened(claim,
                  fmt::format("all {} EFA adapters are here, but an EFA adapter does not say its rate; two nodes "
                              "and perftest measure it (network.efa)",
                              exact_text(*sold)));
  }
  Verdict verdict = opened(claim, "");
  const double share = claim.value.get<double>() / *sold;
  decide(verdict, seen.count * share,
         fmt::format("{} of {} EFA adapters are here, {} Gb/s each as sold", seen.count, exact_text(*sold),
                     exact_text(share)));
  verdict.diagnosis = {
      "EFA adapters are attached at launch, one a network card index, each asked for. -> Compare the launch template's "
      "network interfaces with the number above, or `fi_info -p efa`."};
  return verdict;
}

}  // namespace

Verdict interconnect_verdict(const Document& document, const Claim& claim) {
  const auto least = least_joined(document);
  const std::string kind = text_at(claim.definition, "links");
  if (!least && !kind.empty() && !kind.starts_with("NV"))
    return opened(claim, fmt::format("{} is not measured: no worker knows such links (a log of collectives over them "
                                     "can be imported)",
                                     kind));
  if (!least) return opened(claim, "the GPUs do not say how many links to others they have");
  const double rate = least->gbps;
  Verdict verdict = opened(claim, "");
  if (least->active == 0 && rate == 0)
    decide(verdict, 0,
           fmt::format("GPU {} has no active NVLink: it reaches others over PCIe", exact_text(least->index)));
  else
    decide(verdict, 2 * least->active * rate,
           fmt::format("{} of {} NVLinks of {} GB/s each way are active on GPU {}, {} with both directions added up",
                       exact_text(least->active), exact_text(least->links), exact_text(rate), exact_text(least->index),
                       quantity_text(2 * least->active * rate, "GB/s")));
  if (verdict.kind == VerdictKind::contradicted)
    verdict.diagnosis = {
        "Links are down or were never there. -> `nvidia-smi nvlink -s` shows each; a card with fewer links than its "
        "sheet says is another product (A800, H800 and H20 differ)."};
  return verdict;
}

Verdict network_rate_verdict(const Document& document, const Claim& claim) {
  const std::string kind = text_at(claim.definition, "network_kind");
  const bool fabric = kind == "EFA" || kind.starts_with("InfiniBand") || kind.starts_with("RoCE");
  if (!fabric && !kind.empty())
    return opened(claim, "the rate of a virtual Ethernet adapter is nominal; only traffic between two nodes shows it");
  const Adapters seen = adapters_of(document);
  if (seen.count == 0) return opened(claim, "no RDMA adapter shows (a container may hide them)");
  if (kind == "EFA") return efa_verdict(claim, seen);
  if (seen.without_rate > 0) return opened(claim, "the adapters do not say how fast they are");
  Verdict verdict = opened(claim, "");
  const double sold = claim.value.get<double>();
  decide(verdict, seen.gbit,
         fmt::format("the {} adapters that are up carry {} Gb/s by their own word, {} Gb/s sold", seen.count,
                     exact_text(seen.gbit), exact_text(sold)));
  if (verdict.kind == VerdictKind::contradicted)
    verdict.diagnosis = {
        "Adapters are missing, down, or trained at a lower rate. -> `ibstat`, `ibv_devinfo -v` or `ethtool` shows the "
        "rate of each; compare their number with the order."};
  return verdict;
}

}  // namespace claimcheck
