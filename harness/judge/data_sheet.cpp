#include "harness/judge/data_sheet.h"

#include <fmt/format.h>

#include "harness/judge/link_rates.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/scale/links.h"

namespace claimcheck {
namespace {

using nlohmann::json;

class Sheet {
 public:
  Sheet(const Accelerator& accelerator, const Platform* platform, const Catalog& catalog)
      : accelerator_(accelerator), platform_(platform), source_(source_of(accelerator.sources, catalog)) {}

  void add(const std::string& metric, double value, const std::string& unit, const json& definition) {
    if (!(value > 0)) return;
    Claim claim;
    claim.id = fmt::format("data_sheet:{}:{}", accelerator_.id, metric);
    claim.metric = metric;
    claim.value = value;
    claim.unit = unit;
    claim.definition = {{"comparison", "claim"},
                        {"per", "device"},
                        {"accelerator", accelerator_.id},
                        {"accelerator_name", accelerator_.name}};
    if (platform_ != nullptr) claim.definition["platform"] = platform_->id;
    claim.definition.update(definition);
    claim.source = source_;
    claims_.push_back(std::move(claim));
  }

  void arithmetic() {
    for (const char* data_type : {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"}) {
      const auto dense = dense_claim(accelerator_, data_type);
      const std::string metric = gemm_metric(data_type);
      if (!dense || metric.empty()) continue;
      add(metric, *dense, metric.ends_with(".tops") ? "TOPS" : "TFLOPS",
          {{"kind", "peak"}, {"density", "dense"}, {"data_type", data_type}});
    }
  }

  void memory() {
    if (!accelerator_.memory_bandwidth_gbps) return;
    add("memory.read.gbps", *accelerator_.memory_bandwidth_gbps, "GB/s",
        {{"kind", "peak"},
         {"prefix", "decimal"},
         {"also", json::array({"memory.triad.gbps", "memory.add.gbps", "memory.copy.gbps", "memory.scale.gbps",
                               "memory.write.gbps"})}});
  }

  // Sheets add both directions up, over all links of one GPU.
  void links() {
    const auto both = accelerator_.interconnect_gbps;
    if (!both || !is_joined()) return;
    const std::string kind = text_at(accelerator_.record, "interconnect");
    const json definition = {{"direction", "both"}, {"prefix", "decimal"}, {"links", kind}};
    add("identity.interconnect_gbps", *both, "GB/s", definition);
    if (!a_pair_has_all()) return;
    json peak = definition;
    peak.update({{"kind", "peak"}, {"also", json::array({"p2p.write.gbps"})}});
    add("p2p.read.gbps", *both, "GB/s", peak);
  }

  // Of one card alone: cards may share an uplink, which no sheet of a card promises against.
  void host_link() {
    const auto generation = number_at(accelerator_.record, "/pcie_gen");
    const auto lanes = number_at(accelerator_.record, "/pcie_lanes");
    if (!generation || !lanes || *generation < 1) return;
    const json definition = {{"kind", "peak"},
                             {"direction", "one"},
                             {"prefix", "decimal"},
                             {"links", fmt::format("PCIe {}.0 x{}", exact_text(*generation), exact_text(*lanes))},
                             {"conditions", {{"devices_at_once", 1}}}};
    for (const char* metric : {"host_link.h2d.gbps", "host_link.d2h.gbps"})
      add(metric, pcie_gbps(*generation, *lanes), "GB/s", definition);
  }

  std::vector<Claim> take() { return std::move(claims_); }

 private:
  // One GPU alone has nobody to be joined with, some machines leave the links out, and of some nobody says.
  bool is_joined() const {
    if (platform_ == nullptr) return true;
    if (platform_->accelerator_count.value_or(0) < 2) return false;
    const std::string inside = text_at(platform_->record, "intra_node");
    return !inside.empty() && !inside.starts_with("PCIe");
  }

  // Behind a switch, or two GPUs and a bridge; in a mesh a pair has a few of the links only.
  bool a_pair_has_all() const {
    if (!scale::has_nvlink(accelerator_)) return false;
    if (platform_ == nullptr) return false;
    const std::string inside = text_at(platform_->record, "intra_node");
    return inside.starts_with("NVSwitch") || (scale::is_bridged(accelerator_) && platform_->accelerator_count == 2);
  }

  const Accelerator& accelerator_;
  const Platform* platform_;
  json source_;
  std::vector<Claim> claims_;
};

}  // namespace

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

std::vector<Claim> data_sheet_claims(const Accelerator& accelerator, const Platform* platform, const Catalog& catalog) {
  Sheet sheet(accelerator, platform, catalog);
  sheet.arithmetic();
  sheet.memory();
  sheet.links();
  sheet.host_link();
  return sheet.take();
}

}  // namespace claimcheck
