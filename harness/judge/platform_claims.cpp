// The claims a catalog row makes: what the seller says the machine is and what its network carries, and the data sheet
// of its accelerator. What the row does not know makes no claim.
#include <fmt/format.h>

#include "harness/judge/data_sheet.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/transport_verdict.h"

namespace claimcheck {
namespace {

using nlohmann::json;

class Builder {
 public:
  Builder(const Platform& platform, const Catalog& catalog)
      : platform_(platform), source_(source_of(platform.sources, catalog)) {}

  void add(const std::string& what, const std::string& metric, json value, const std::string& unit,
           const json& more = json::object()) {
    Claim claim;
    claim.id = fmt::format("platform:{}:{}", platform_.id, what);
    claim.metric = metric;
    claim.comparison = value.is_number() && !unit.empty() ? ">=" : "==";
    claim.value = std::move(value);
    claim.unit = unit;
    claim.definition = {{"comparison", "claim"}, {"platform", platform_.id}};
    claim.definition.update(more);
    claim.source = source_;
    claims_.push_back(std::move(claim));
  }

  void identity(const std::string& what, json value, const std::string& unit, const json& more = json::object()) {
    add(what, "identity." + what, std::move(value), unit, more);
  }

  // Of a slice of a card the row says its share, so the row goes before the card.
  void device_memory(const Accelerator* accelerator) {
    auto size = number_at(platform_.record, "/accelerator_memory_gb");
    if (!size && accelerator != nullptr) size = accelerator->memory_gb;
    if (!size || !(*size > 0) || platform_.accelerator_count.value_or(0) < 1) return;
    identity("accelerator_memory_gb", *size, "GB", {{"per", "device"}, {"prefix", "decimal"}});
  }

  // Rates of a node are sold in bits; the benchmarks between two nodes measure one adapter.
  void network() {
    if (!platform_.network_gbps || !(*platform_.network_gbps > 0)) return;
    const double total = *platform_.network_gbps;
    const std::string kind = text_at(platform_.record, "network_kind");
    json definition = {{"per", "node"}, {"direction", "one"}, {"prefix", "decimal"}};
    if (!kind.empty()) definition["network_kind"] = kind;
    const double adapters = number_at(platform_.record, "/network_nics").value_or(0);
    if (adapters > 0) definition["adapters"] = adapters;
    identity("network_gbps", total, "Gb/s", definition);
    const bool efa = kind == "EFA";
    if (adapters < 1 || !(efa || kind.starts_with("InfiniBand") || kind.starts_with("RoCE"))) return;
    definition.update(
        {{"kind", "peak"},
         {"per", "adapter"},
         {"printed", fmt::format("{} Gb/s a node, {} adapters", exact_text(total), exact_text(adapters))}});
    const char* metric = efa ? "network.efa.gbps" : "network.ib.gbps";
    add(metric, metric, total / adapters / 8, "GB/s", definition);
  }

  void transports() {
    for (Claim& claim : transport_claims(platform_)) {
      claim.source = source_;
      claims_.push_back(std::move(claim));
    }
  }

  void data_sheet(const Accelerator& accelerator, const Catalog& catalog) {
    for (Claim& claim : data_sheet_claims(accelerator, &platform_, catalog)) claims_.push_back(std::move(claim));
  }

  std::vector<Claim> take() { return std::move(claims_); }

 private:
  const Platform& platform_;
  json source_;
  std::vector<Claim> claims_;
};

}  // namespace

std::vector<Claim> platform_claims(const Platform& platform, const Catalog& catalog) {
  Builder builder(platform, catalog);
  const Accelerator* accelerator =
      platform.accelerator.empty() ? nullptr : catalog.find_accelerator(platform.accelerator);
  if (accelerator != nullptr) {
    builder.identity("accelerator", accelerator->name, "", {{"accelerator", accelerator->id}});
  }
  if (platform.accelerator_count) builder.identity("accelerator_count", *platform.accelerator_count, "");
  builder.device_memory(accelerator);
  if (platform.vcpus) builder.identity("vcpus", *platform.vcpus, "");
  if (platform.ram_gib) builder.identity("ram_gib", *platform.ram_gib, "GiB", {{"prefix", "binary"}});
  if (platform.local_nvme_gb && *platform.local_nvme_gb > 0) {
    builder.identity("local_nvme_gb", *platform.local_nvme_gb, "GB", {{"prefix", "decimal"}});
  }
  builder.transports();
  builder.network();
  if (accelerator != nullptr) builder.data_sheet(*accelerator, catalog);
  return builder.take();
}

}  // namespace claimcheck
