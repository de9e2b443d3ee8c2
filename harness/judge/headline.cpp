#include "harness/judge/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "4096" of "gemm.fp32/n:4096" for "n"; labels are separated by '/' or ','.
json condition_in_id(const std::string& id, const std::string& name) {
  std::size_t begin = id.find('/');
  while (begin != std::string::npos) {
    const std::size_t end = id.find_first_of("/,", begin + 1);
    const std::string part = id.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == ':') {
      const std::string value = part.substr(name.size() + 1);
      double number = 0;
      const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      return error == std::errc{} && stop == value.data() + value.size() ? json(number) : json(value);
    }
    begin = end;
  }
  return nullptr;
}

bool on_zeros(const Measurement& measurement) {
  for (const char* name : {"pattern", "data_pattern"}) {
    const auto found = measurement.conditions.find(name);
    if (found != measurement.conditions.end() && found->is_string() && *found == "zeros") return true;
  }
  return false;
}

// "gemm.fp32" of "gemm.fp32.tflops": what a benchmark of the metric is called.
std::string_view family(std::string_view metric) { return metric.substr(0, metric.rfind('.')); }

// The plan's reason for leaving out a case of this metric; lists of {id, reason} or [id, reason].
std::string reason_left_out(const json& list, std::string_view metric) {
  if (!list.is_array()) return {};
  for (const json& entry : list) {
    std::string id;
    std::string reason;
    if (entry.is_object()) {
      id = text_at(entry, "id");
      reason = text_at(entry, "reason");
    } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      id = entry[0].get<std::string>();
      reason = entry[1].get<std::string>();
    }
    if (!reason.empty() && id.substr(0, id.find('/')) == family(metric)) return reason;
  }
  return {};
}

std::string left_out(const Document& document, std::string_view metric) {
  for (const char* pointer : {"/left_out", "/plan/left_out"}) {
    const json::json_pointer place(pointer);
    if (!document.run.contains(place)) continue;
    if (std::string reason = reason_left_out(document.run.at(place), metric); !reason.empty()) return reason;
  }
  return {};
}

// Start-up times come from the probe, which says why it has none.
std::string no_startup_time(const Document& document, std::string_view metric) {
  const auto startup = document.system.find("startup");
  if (!metric.starts_with("startup.") || startup == document.system.end() || !startup->is_object()) return {};
  return text_at(*startup, metric.find("ready") != metric.npos ? "ready_reason" : "reason");
}

// Under which values of the asked conditions the metric was measured: "n = 1024 or 4096".
std::string measured_under(const std::vector<const Measurement*>& found, const json& conditions) {
  std::string text;
  for (const auto& [name, wanted] : conditions.items()) {
    std::set<std::string> values;
    for (const Measurement* measurement : found) {
      const json value = condition_of(*measurement, name);
      if (!value.is_null()) values.insert(value_text(value));
    }
    if (!text.empty()) text += ", ";
    text += values.empty() ? fmt::format("{} is not recorded", name)
                           : fmt::format("{} = {}", name, fmt::join(values, " or "));
  }
  return text;
}

}  // namespace

json condition_of(const Measurement& measurement, const std::string& name) {
  const auto found = measurement.conditions.find(name);
  if (found != measurement.conditions.end()) return *found;
  const auto shape = measurement.conditions.find("shape");
  if (shape != measurement.conditions.end() && shape->is_object() && shape->contains(name)) return (*shape)[name];
  return condition_in_id(measurement.id, name);
}

bool same_condition(const json& wanted, const json& found) {
  if (wanted.is_number() && found.is_number()) return wanted.get<double>() == found.get<double>();
  return lower(value_text(wanted)) == lower(value_text(found));
}

bool meets(const Measurement& measurement, const json& conditions) {
  if (!conditions.is_object()) return true;
  return std::all_of(conditions.items().begin(), conditions.items().end(), [&](const auto& item) {
    return same_condition(item.value(), condition_of(measurement, item.key()));
  });
}

bool counts(const Document& document, const Measurement& measurement) {
  if (measurement.estimate || on_zeros(measurement)) return false;
  return !measurement.is_virtual || document.is_virtual;
}

std::string limited_by_size(const Measurement& measurement) {
  const std::string why = text_at(measurement.conditions, "limited");
  return why.empty() ? why : why + "; measure without --max-bytes and --max-gemm, and with the memory free";
}

const Measurement* headline_where(const Document& document, std::string_view metric, const json& conditions,
                                  const Accepts& accepts) {
  const Metric* definition = find_metric(metric);
  const bool smallest = definition != nullptr && definition->select == Select::min;
  const Measurement* best = nullptr;
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric != metric || !measurement.usable() || !counts(document, measurement)) continue;
    if (!meets(measurement, conditions) || !accepts(measurement)) continue;
    if (best == nullptr || (smallest ? *measurement.value < *best->value : *measurement.value > *best->value)) {
      best = &measurement;
    }
  }
  return best;
}

const Measurement* headline(const Document& document, std::string_view metric, const json& conditions) {
  return headline_where(document, metric, conditions, [](const Measurement&) { return true; });
}

std::string why_not_measured(const Document& document, std::string_view metric, const json& conditions,
                             const Accepts& accepts) {
  std::vector<const Measurement*> found;
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric == metric && accepts(measurement)) found.push_back(&measurement);
  }
  if (found.empty()) {
    const bool elsewhere = std::any_of(document.measurements.begin(), document.measurements.end(),
                                       [&](const Measurement& measurement) { return measurement.metric == metric; });
    if (elsewhere) return fmt::format("{} was measured on another device only", metric);
    if (std::string reason = no_startup_time(document, metric); !reason.empty()) return reason;
    if (std::string reason = left_out(document, metric); !reason.empty()) return "left out: " + reason;
    if (metric.ends_with(".busbw.gbps") && headline(document, "collective.busbw.gbps", conditions) != nullptr)
      return "the log does not name its collective, so its figures are collective.busbw.gbps: claim that";
    const std::string status = text_at(document.run, "status");
    if (text_at(document.run, "profile") == "import") return "what was imported holds no measurement of it";
    if (status == "partial" || status == "failed") return "the run ended before it was measured";
    return "this result holds no measurement of it";
  }
  std::vector<const Measurement*> matching;
  for (const Measurement* measurement : found) {
    if (meets(*measurement, conditions)) matching.push_back(measurement);
  }
  if (matching.empty()) return "measured under other conditions only: " + measured_under(found, conditions);
  const Measurement* first = matching.front();
  for (const Measurement* measurement : matching) {
    if (!measurement->usable()) first = measurement;
  }
  if (!first->usable()) return fmt::format("{}: {}", to_string(first->status), first->reason);
  if (first->estimate) return "only an estimate is there, and an estimate is not a measurement";
  if (on_zeros(*first)) return "measured on zeros only; a claim is held on random data";
  return "measured on a virtual device only";
}

}  // namespace claimcheck
