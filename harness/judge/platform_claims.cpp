// The claims a catalog row makes: what the seller says the machine is, and the data sheet of its accelerator.
#include <fmt/format.h>

#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/transport_verdict.h"

namespace claimcheck {
namespace {

using nlohmann::json;

json source_of(const Sources& sources, const Catalog& catalog) {
  json source = {{"from", "catalog"}, {"ids", sources}};
  for (const std::string& id : sources) {
    const auto found = catalog.sources.find(id);
    if (found == catalog.sources.end()) continue;
    source["text"] = found->second.title;
    if (!found->second.date.empty()) source["date"] = found->second.date;
    break;
  }
  return source;
}

class Builder {
 public:
  Builder(const Platform& platform, const Catalog& catalog) : platform_(platform), catalog_(catalog) {}

  void identity(const std::string& what, json value, const std::string& unit, const json& more = json::object()) {
    Claim claim;
    claim.id = fmt::format("platform:{}:{}", platform_.id, what);
    claim.metric = "identity." + what;
    claim.comparison = value.is_number() && !unit.empty() ? ">=" : "==";
    claim.value = std::move(value);
    claim.unit = unit;
    claim.definition = {{"comparison", "claim"}, {"platform", platform_.id}};
    claim.definition.update(more);
    claim.source = source_of(platform_.sources, catalog_);
    claims_.push_back(std::move(claim));
  }

  void transports() {
    for (Claim& claim : transport_claims(platform_)) {
      claim.source = source_of(platform_.sources, catalog_);
      claims_.push_back(std::move(claim));
    }
  }

  void data_sheet(const Accelerator& accelerator, const std::string& metric, double value, const std::string& unit,
                  const json& more) {
    Claim claim;
    claim.id = fmt::format("data_sheet:{}:{}", accelerator.id, metric);
    claim.metric = metric;
    claim.value = value;
    claim.unit = unit;
    claim.definition = {{"comparison", "claim"},    {"kind", "peak"},
                        {"per", "device"},          {"accelerator", accelerator.id},
                        {"platform", platform_.id}, {"accelerator_name", accelerator.name}};
    claim.definition.update(more);
    claim.source = source_of(accelerator.sources, catalog_);
    claims_.push_back(std::move(claim));
  }

  std::vector<Claim> take() { return std::move(claims_); }

 private:
  const Platform& platform_;
  const Catalog& catalog_;
  std::vector<Claim> claims_;
};

void add_data_sheet(const Accelerator& accelerator, Builder& builder) {
  for (const char* data_type : {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"}) {
    const auto dense = dense_claim(accelerator, data_type);
    const std::string metric = gemm_metric(data_type);
    if (!dense || metric.empty()) continue;
    builder.data_sheet(accelerator, metric, *dense, metric.ends_with(".tops") ? "TOPS" : "TFLOPS",
                       {{"density", "dense"}, {"data_type", data_type}});
  }
  if (accelerator.memory_bandwidth_gbps) {
    builder.data_sheet(accelerator, "memory.read.gbps", *accelerator.memory_bandwidth_gbps, "GB/s",
                       {{"prefix", "decimal"},
                        {"also", json::array({"memory.triad.gbps", "memory.add.gbps", "memory.copy.gbps",
                                              "memory.scale.gbps", "memory.write.gbps"})}});
  }
}

}  // namespace

std::vector<Claim> platform_claims(const Platform& platform, const Catalog& catalog) {
  Builder builder(platform, catalog);
  const Accelerator* accelerator =
      platform.accelerator.empty() ? nullptr : catalog.find_accelerator(platform.accelerator);
  if (accelerator != nullptr) {
    builder.identity("accelerator", accelerator->name, "", {{"accelerator", accelerator->id}});
  }
  if (platform.accelerator_count) builder.identity("accelerator_count", *platform.accelerator_count, "");
  if (platform.vcpus) builder.identity("vcpus", *platform.vcpus, "");
  if (platform.ram_gib) builder.identity("ram_gib", *platform.ram_gib, "GiB");
  if (platform.local_nvme_gb && *platform.local_nvme_gb > 0) {
    builder.identity("local_nvme_gb", *platform.local_nvme_gb, "GB");
  }
  builder.transports();
  if (accelerator != nullptr) add_data_sheet(*accelerator, builder);
  return builder.take();
}

}  // namespace claimcheck
