// Expected values against each other and against what the card can do. The mistakes these rules refuse were shipped by
// others: a floor a thousand times too low, a threshold above what the links carry.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/catalog/checks.h"
#include "harness/result/json_text.h"

namespace claimcheck::catalog_checks {
namespace {

constexpr double too_low = 5;             // a floor this far below the claim or a typical value cannot fail
constexpr double too_low_on_links = 10;   // all-reduce: link rates are further from what is reached
constexpr double memory_headroom = 1.03;  // H200: 4917 GB/s by its clock, 4800 on the sheet
constexpr double gemm_headroom = 1.10;    // H100: 1070 TFLOPS at its highest clock, 989 on the sheet
constexpr double saturated_bytes = 1024.0 * 1024 * 1024;
constexpr double same_within = 0.05;
constexpr double loses_too_much = 0.6;  // a floor below this share of typical lets a machine pass that lost 40 %
constexpr double not_saturated = 0.7;   // of what a large message reaches: the sweep stopped early
constexpr double one_way_apart = 2;     // the two directions of one host link never are

const Accelerator* accelerator_of(const Catalog& catalog, const Expected& record) {
  for (const Accelerator& accelerator : catalog.accelerators) {
    if (accelerator.id == record.accelerator) return &accelerator;
  }
  return nullptr;
}

bool says(const Expected& record, const char* condition, const nlohmann::json& value) {
  const auto found = record.conditions.find(condition);
  return found != record.conditions.end() && *found == value;
}

bool is_slice(const Expected& record) {
  return record.conditions.contains("mig") || record.conditions.contains("vgpu");
}

// What the data sheet claims of the same quantity.
std::optional<double> claim_of(const Accelerator& card, const std::string& metric) {
  if (metric.starts_with("memory.")) return card.memory_bandwidth_gbps;
  if (!metric.starts_with("gemm.")) return std::nullopt;
  return dense_claim(card, metric.substr(5, metric.rfind('.') - 5));
}

// GB/s of one direction: 128b/130b coding, facts 4.1.
std::optional<double> pcie_rate(const Accelerator& card) {
  const auto number = [&](const char* field) {
    const auto found = card.record.find(field);
    return found != card.record.end() && found->is_number() ? found->get<int>() : 0;
  };
  const int generation = number("pcie_gen");
  const int lanes = number("pcie_lanes");
  constexpr double per_lane_gen3 = 15.75 / 16;
  if (generation < 3 || generation > 5 || lanes < 1) return std::nullopt;
  return per_lane_gen3 * lanes * (generation == 3 ? 1 : generation == 4 ? 2 : 4);
}

std::optional<double> times(std::optional<double> value, double by) {
  return value ? std::optional(*value * by) : std::nullopt;
}

// In one node with in-network reduction every GPU sends and receives its data once, so busbw is at most
// 2 (n - 1) / n of the link.
std::optional<double> all_reduce_ceiling(const Accelerator& card, const Expected& record) {
  const nlohmann::json count = record.conditions.value("count", nlohmann::json());
  if (!says(record, "nodes", 1) || !count.is_number() || count.get<double>() < 2) return std::nullopt;
  return times(card.interconnect_gbps, (count.get<double>() - 1) / count.get<double>());
}

std::optional<double> physical_ceiling(const Accelerator& card, const Expected& record) {
  const std::string& metric = record.metric;
  if (metric.starts_with("memory.")) return times(claim_of(card, metric), memory_headroom);
  if (metric.starts_with("gemm.")) return times(claim_of(card, metric), gemm_headroom);
  if (metric.find(".sum.") != std::string::npos || says(record, "link", "c2c")) return std::nullopt;
  if (metric.starts_with("host_link.")) return pcie_rate(card);
  if (metric == "p2p.read.gbps" || metric == "p2p.write.gbps") {
    return card.interconnect_gbps ? times(card.interconnect_gbps, 0.5) : pcie_rate(card);
  }
  if (metric == "allreduce.busbw.gbps") return all_reduce_ceiling(card, record);
  return std::nullopt;
}

void check_physics(const Accelerator& card, const Expected& record, Problems& problems) {
  const std::optional<double> ceiling = physical_ceiling(card, record);
  if (!ceiling) return;
  for (const auto& [name, value] : {std::pair{"floor", record.floor}, std::pair{"typical", record.typical}}) {
    if (!value || *value <= *ceiling) continue;
    refuse(problems, record.place,
           fmt::format("{} {} {} is above the physical ceiling {:.4g} of {} ({})", name, *value, record.unit, *ceiling,
                       card.id, record.metric));
  }
}

void check_can_fail(const Accelerator& card, const Expected& record, Problems& problems) {
  if (!record.floor || is_slice(record) || !record.outlier.empty()) return;
  std::optional<double> claim = claim_of(card, record.metric);
  double factor = too_low;
  if (record.metric == "allreduce.busbw.gbps" && says(record, "nodes", 1)) {
    claim = times(card.interconnect_gbps, 0.5);
    factor = too_low_on_links;
  }
  if (!claim || *record.floor >= *claim / factor) return;
  refuse(problems, record.place,
         fmt::format("floor {} {} cannot fail: {} has {:.4g}, a factor {:.0f} more; correct it, or say why in outlier",
                     *record.floor, record.unit, card.id, *claim, *claim / *record.floor));
}

// Whether what one record says holds under the other's conditions. A condition that only one names does not part them.
bool comparable(const Expected& a, const Expected& b) {
  if (a.accelerator != b.accelerator || a.metric != b.metric) return false;
  if (!a.platform.empty() && !b.platform.empty() && a.platform != b.platform) return false;
  for (const auto& item : a.conditions.items()) {
    const auto other = b.conditions.find(item.key());
    if (other == b.conditions.end() || *other == item.value()) continue;
    const bool both_saturated = item.key() == "bytes" && other->is_number() && item.value().is_number() &&
                                other->get<double>() >= saturated_bytes &&
                                item.value().get<double>() >= saturated_bytes;
    if (!both_saturated) return false;
  }
  return true;
}

void check_against_typical(const Catalog& catalog, const Expected& record, Problems& problems) {
  if (!record.floor) return;
  const Expected* best = record.typical ? &record : nullptr;
  for (const Expected& other : catalog.expected) {
    if (&other == &record || !other.typical || !comparable(record, other)) continue;
    if (best == nullptr || *other.typical > *best->typical) best = &other;
  }
  if (best == nullptr) return;
  if (*record.floor >= *best->typical) {
    refuse(problems, record.place,
           fmt::format("floor {} {}, but the best known machine reaches {} ({})", *record.floor, record.unit,
                       *best->typical, best->id));
  } else if (*record.floor < *best->typical / too_low && record.outlier.empty() && !is_slice(record)) {
    refuse(problems, record.place,
           fmt::format("floor {} {} cannot fail: {} is typical ({}); correct it, or say why in outlier", *record.floor,
                       record.unit, *best->typical, best->id));
  } else if (*record.floor < *best->typical * loses_too_much && record.outlier.empty() && !is_slice(record)) {
    refuse(
        problems, record.place,
        fmt::format("floor {} {} lets {:.0f} % be lost: {} is typical ({}); correct it, or say why in outlier",
                    *record.floor, record.unit, 100 * (1 - *record.floor / *best->typical), *best->typical, best->id));
  }
}

bool is_bus(const Expected& record) { return record.metric.ends_with(".busbw.gbps"); }

// A line for every machine with the card judges those that have no such network by it.
void check_fabric(const Catalog& catalog, const Expected& record, Problems& problems) {
  if (!is_bus(record)) return;
  const nlohmann::json nodes = record.conditions.value("nodes", nlohmann::json(1));
  const bool several = nodes.is_number() && nodes.get<double>() > 1;
  const bool unlisted = record.accelerator.starts_with("unlisted:");  // named after its machine
  if (several && !unlisted && record.platform.empty() && !record.conditions.contains("fabric"))
    refuse(problems, record.place,
           fmt::format("{} nodes on any machine with {}, whatever its network; name the platform, or the fabric in "
                       "conditions",
                       dump_json(nodes), record.accelerator));
  const Platform* platform = record.platform.empty() ? nullptr : catalog.find_platform(record.platform);
  const auto count = record.conditions.find("count");
  if (platform == nullptr || !platform->accelerator_count || count == record.conditions.end() || !count->is_number())
    return;
  if (count->get<double>() > *platform->accelerator_count)
    refuse(problems, record.place,
           fmt::format("count {}, but {} has {} accelerators", dump_json(*count), platform->id,
                       *platform->accelerator_count));
}

// Azure's guide once printed 6.27 GB/s to the host beside 26.3 from it.
void check_directions(const Catalog& catalog, const Expected& record, Problems& problems) {
  if (record.metric != "host_link.d2h.gbps" || !record.typical || !record.outlier.empty()) return;
  for (const Expected& other : catalog.expected) {
    if (other.metric != "host_link.h2d.gbps" || !other.typical || !other.outlier.empty()) continue;
    if (other.accelerator != record.accelerator || other.platform != record.platform) continue;
    if (other.conditions.value("devices_at_once", nlohmann::json()) !=
        record.conditions.value("devices_at_once", nlohmann::json()))
      continue;
    const auto [low, high] = std::minmax(*record.typical, *other.typical);
    if (high < one_way_apart * low) continue;
    refuse(
        problems, record.place,
        fmt::format("{} {} to the host, {} from it ({}): two directions of one link never differ by a factor {:.1f}; "
                    "correct it, or say why in outlier",
                    *record.typical, record.unit, *other.typical, other.id, high / low));
  }
}

// Without a message size a value stands for all sizes, so it must be what large ones reach.
void check_saturated(const Catalog& catalog, const Expected& record, Problems& problems) {
  if (!is_bus(record) || !record.typical || record.conditions.contains("bytes") || !record.outlier.empty()) return;
  for (const Expected& other : catalog.expected) {
    if (&other == &record || !other.typical || !comparable(record, other)) continue;
    const nlohmann::json bytes = other.conditions.value("bytes", nlohmann::json(saturated_bytes));
    if (!bytes.is_number() || bytes.get<double>() < saturated_bytes) continue;
    if (*record.typical >= not_saturated * *other.typical) continue;
    refuse(problems, record.place,
           fmt::format("typical {} {} without a message size, but {} reaches {}: was the largest size measured? Name "
                       "bytes in conditions, or say why in outlier",
                       *record.typical, record.unit, other.id, *other.typical));
    return;
  }
}

// What two documents promise of one machine: which of them holds?
void list_rival_floors(const Catalog& catalog, Problems& problems) {
  for (std::size_t i = 0; i < catalog.expected.size(); ++i) {
    for (std::size_t j = i + 1; j < catalog.expected.size(); ++j) {
      const Expected& a = catalog.expected[i];
      const Expected& b = catalog.expected[j];
      if (!a.floor || !b.floor || a.typical || b.typical || a.metric != b.metric) continue;
      if (a.accelerator != b.accelerator || a.platform != b.platform || a.conditions != b.conditions) continue;
      const auto [low, high] = std::minmax(*a.floor, *b.floor);
      if (high - low <= same_within * high) continue;
      dispute(problems, b.place,
              fmt::format("{}: floor {} here, {} at {}, of the same machine", b.id, *b.floor, *a.floor, a.place));
    }
  }
}

void list_rivals(const Catalog& catalog, Problems& problems) {
  for (std::size_t i = 0; i < catalog.expected.size(); ++i) {
    for (std::size_t j = i + 1; j < catalog.expected.size(); ++j) {
      const Expected& a = catalog.expected[i];
      const Expected& b = catalog.expected[j];
      if (!a.typical || !b.typical || a.metric != b.metric || a.accelerator != b.accelerator) continue;
      if (a.platform != b.platform || a.method != b.method || a.conditions != b.conditions) continue;
      const auto [low, high] = std::minmax(*a.typical, *b.typical);
      if (high - low <= same_within * high) continue;
      dispute(problems, b.place,
              fmt::format("{}: typical {} here, {} at {}, same method and conditions", b.id, *b.typical, *a.typical,
                          a.place));
    }
  }
}

}  // namespace

void check_expected(const Catalog& catalog, Problems& problems) {
  std::set<std::string> seen;  // a record for a family stands once a platform and is checked once
  for (const Expected& record : catalog.expected) {
    if (!seen.insert(record.place).second) continue;
    if (const Accelerator* card = accelerator_of(catalog, record)) {
      check_physics(*card, record, problems);
      check_can_fail(*card, record, problems);
    }
    check_against_typical(catalog, record, problems);
    check_fabric(catalog, record, problems);
    check_directions(catalog, record, problems);
    check_saturated(catalog, record, problems);
  }
  list_rivals(catalog, problems);
  list_rival_floors(catalog, problems);
}

}  // namespace claimcheck::catalog_checks
