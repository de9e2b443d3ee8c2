// What part of its dense claim a card typically reaches, from catalog/expected.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "harness/catalog/catalog.h"

namespace claimcheck {
namespace {

constexpr double smallest_cube = 8192;  // below it the launch and the tail of the grid show (facts, GEMM by shape)

std::string claim_key(std::string_view data_type) {
  return data_type.starts_with("fp8") ? "fp8" : std::string(data_type);
}

// Whether a GEMM record speaks for the best the card does: the best shape or a large cube.
bool large(const nlohmann::json& conditions) {
  const auto shape = conditions.find("shape");
  if (shape == conditions.end() || !shape->is_string() || *shape == "best") return true;
  return std::atof(shape->get_ref<const std::string&>().c_str()) >= smallest_cube;  // "8192x8192x8192"
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

enum class Pattern { not_constant, constant };

// The best value of each source, on random data unless constant data is asked for.
std::map<std::string, double> best_by_source(const Catalog& catalog, const Accelerator& accelerator,
                                             const std::string& key, Pattern pattern) {
  std::map<std::string, double> best;
  for (const Expected& record : catalog.expected) {
    if (record.accelerator != accelerator.id || !record.typical || record.sources.empty()) continue;
    if (!record.metric.starts_with("gemm.")) continue;
    const std::string type = record.metric.substr(5, record.metric.rfind('.') - 5);
    if (claim_key(type) != key || !large(record.conditions)) continue;
    const auto pattern_of = record.conditions.find("pattern");
    const bool constant = pattern_of != record.conditions.end() && *pattern_of == "constant";
    if (constant != (pattern == Pattern::constant)) continue;
    double& value = best[record.sources.front()];
    value = std::max(value, *record.typical);
  }
  return best;
}

struct Ratio {
  double value = 0;
  std::string basis;
};

std::optional<Ratio> own_ratio(const Catalog& catalog, const Accelerator& accelerator, const std::string& key,
                               Pattern pattern) {
  const std::optional<double> claim = dense_claim(accelerator, key);
  if (!claim || *claim <= 0) return std::nullopt;
  const std::map<std::string, double> best = best_by_source(catalog, accelerator, key, pattern);
  if (best.empty()) return std::nullopt;
  std::vector<double> values;
  std::string sources;
  for (const auto& [source, value] : best) {
    values.push_back(value);
    sources += (sources.empty() ? "" : ", ") + source;
  }
  const double typical = median(values);
  return Ratio{typical / *claim,
               fmt::format("{} {}: typical {:.4g} of {:.4g} claimed{} ({})", accelerator.id, key, typical, *claim,
                           pattern == Pattern::constant ? ", on constant data" : "", sources)};
}

// Own types that may stand in for `key`, best first.
std::vector<std::string> stand_ins(const std::string& key) {
  std::vector<std::string> types;
  if (key == "bf16") types = {"fp16", "fp8", "tf32"};
  if (key == "fp16") types = {"bf16", "fp8", "tf32"};
  if (key == "tf32") types = {"bf16", "fp16", "fp8"};
  if (key == "fp8") types = {"bf16", "fp16"};
  if (key == "fp4" || key == "int8") types = {"fp8", "bf16", "fp16"};
  return types;
}

std::string form_factor(const Accelerator& accelerator) {
  const auto form = accelerator.record.find("form_factor");
  return form != accelerator.record.end() && form->is_string() ? form->get<std::string>() : "";
}

// Median over the other cards of the architecture; those of the same form factor only, when there are any.
std::optional<Ratio> of_architecture(const Catalog& catalog, const Accelerator& accelerator, const std::string& key) {
  for (const bool same_form : {true, false}) {
    std::vector<double> ratios;
    std::string ids;
    for (const Accelerator& other : catalog.accelerators) {
      if (other.id == accelerator.id || other.architecture.empty()) continue;
      if (other.architecture != accelerator.architecture) continue;
      if (same_form && form_factor(other) != form_factor(accelerator)) continue;
      if (const auto ratio = own_ratio(catalog, other, key, Pattern::not_constant)) {
        ratios.push_back(ratio->value);
        ids += (ids.empty() ? "" : ", ") + other.id;
      }
    }
    if (ratios.empty()) continue;
    return Ratio{median(ratios), fmt::format("{} {}: nothing measured; the {} ratio of other {} cards ({})",
                                             accelerator.id, key, key, accelerator.architecture, ids)};
  }
  return std::nullopt;
}

std::optional<Ratio> best_ratio(const Catalog& catalog, const Accelerator& accelerator, const std::string& key) {
  for (const Pattern pattern : {Pattern::not_constant, Pattern::constant}) {
    if (auto ratio = own_ratio(catalog, accelerator, key, pattern)) return ratio;
  }
  const std::vector<std::string> others = stand_ins(key);
  for (const std::string& type : others) {
    if (auto ratio = own_ratio(catalog, accelerator, type, Pattern::not_constant)) {
      ratio->basis = fmt::format("no {} value; the ratio of {}", key, ratio->basis);
      return ratio;
    }
  }
  if (auto ratio = of_architecture(catalog, accelerator, key)) return ratio;
  for (const std::string& type : others) {
    if (auto ratio = of_architecture(catalog, accelerator, type)) return ratio;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> dense_claim(const Accelerator& accelerator, std::string_view data_type) {
  const auto claimed = [&](const std::string& key) -> std::optional<double> {
    const auto found = accelerator.dense_tflops.find(key);
    return found == accelerator.dense_tflops.end() ? std::nullopt : std::optional(found->second);
  };
  const std::string key = claim_key(data_type);
  if (key == "fp64") {
    if (const auto tensor = claimed("fp64_tensor")) return tensor;
  }
  return claimed(key);
}

std::optional<double> typical_ratio(const Catalog& catalog, const Accelerator& accelerator, std::string_view data_type,
                                    std::string* basis) {
  if (!dense_claim(accelerator, data_type)) return std::nullopt;
  const std::optional<Ratio> ratio = best_ratio(catalog, accelerator, claim_key(data_type));
  if (!ratio) return std::nullopt;
  if (basis != nullptr) *basis = ratio->basis;
  return ratio->value;
}

}  // namespace claimcheck
