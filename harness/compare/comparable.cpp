// Conditions are an open set: what is not named here as circumstance or as effort has to be equal, so that a
// condition a later benchmark adds is heeded without anybody adding it here.
#include "harness/compare/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace claimcheck::compare {
namespace {

using nlohmann::json;

// How often and how long something was done, and how much of it was checked.
constexpr std::array<std::string_view, 16> of_effort = {
    "iterations", "repetitions",   "min_time_seconds", "seed",         "passes",   "passes_a_round",
    "sets",       "steps",         "products_a_round", "loads",        "launches", "messages",
    "held_bytes", "checked_share", "checked_tiles",    "checked_lanes"};
constexpr std::array<std::string_view, 9> circumstances = {
    "ecc", "access", "link", "file_system", "storage_device", "limited_by", "directory", "transport", "scaled"};

bool in(const auto& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

std::string shown(const json& value) {
  if (value.is_null()) return "unknown";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return value.dump();
  std::string text;
  for (const auto& [key, part] : value.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, shown(part));
  return text;
}

std::string in_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// Files are made as large as the disk is fast: up to a factor of 2 they are the same file.
bool same_file_size(const std::string& name, const json& before, const json& after, const Measurement& measurement) {
  const bool file = measurement.conditions.contains("file") || measurement.conditions.contains("block_bytes");
  if (!file || !name.ends_with("bytes") || name == "block_bytes") return false;
  if (!before.is_number() || !after.is_number()) return false;
  const double a = before.get<double>();
  const double b = after.get<double>();
  return a > 0 && b > 0 && std::max(a, b) <= 2 * std::min(a, b);
}

std::string method_of(const Measurement& measurement) {
  const auto found = measurement.conditions.find("method");
  return found != measurement.conditions.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string measurements_differ(const Measurement& before, const Measurement& after) {
  const std::string old_method = method_of(before);
  const std::string new_method = method_of(after);
  if (old_method != new_method) {
    return fmt::format("not the same method: {}, now {}", old_method.empty() ? "unknown" : old_method,
                       new_method.empty() ? "unknown" : new_method);
  }
  if (before.unit != after.unit && before.value && after.value) {
    return fmt::format("not the same unit: {}, now {}", before.unit, after.unit);
  }
  if (before.is_virtual != after.is_virtual) return "one is of virtual devices, the other of real ones";
  if (before.estimate != after.estimate) return "one is an estimate, the other was measured";
  for (const auto& [name, value] : before.conditions.items()) {
    const auto found = after.conditions.find(name);
    if (found == after.conditions.end() || *found == value || in(of_effort, name) || in(circumstances, name)) continue;
    if (found->is_null() || value.is_null() || same_file_size(name, value, *found, before)) continue;
    return fmt::format("not the same {}: {}, now {}", in_words(name), shown(value), shown(*found));
  }
  return {};
}

std::vector<std::string> circumstances_that_differ(const Measurement& before, const Measurement& after) {
  std::vector<std::string> found;
  for (const std::string_view name : circumstances) {
    const json old_value = before.conditions.value(std::string(name), json());
    const json new_value = after.conditions.value(std::string(name), json());
    if (old_value == new_value || old_value.is_null() || new_value.is_null()) continue;
    found.push_back(fmt::format("{}: {}, now {}", in_words(std::string(name)), shown(old_value), shown(new_value)));
  }
  return found;
}

}  // namespace claimcheck::compare
