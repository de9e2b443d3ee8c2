#include "harness/catalog/import/formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/catalog/names.h"
#include "harness/error.h"
#include "harness/nearest.h"
#include "harness/terminal_text.h"

namespace claimcheck::catalog_import {
namespace {

std::string_view first_line(std::string_view head) { return head.substr(0, head.find_first_of("\r\n")); }

bool has_cells(std::string_view head, std::initializer_list<std::string_view> names) {
  const std::string line = fmt::format(",{},", first_line(head));
  return std::all_of(names.begin(), names.end(),
                     [&](std::string_view name) { return line.find(fmt::format(",{},", name)) != std::string::npos; });
}

char first_mark(std::string_view head) {
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : head[at];
}

bool holds(std::string_view head, std::string_view text) { return head.find(text) != std::string_view::npos; }

constexpr std::array<Format, 5> formats = {{
    {"gpuhunt", read_gpuhunt, "dstackai/gpuhunt: catalog", "MPL-2.0", "medium",
     [](std::string_view head, const Input&) {
       return has_cells(head, {"instance_name", "location", "price"});
     }},
    {"skypilot", read_skypilot, "skypilot-org/skypilot-catalog: vms.csv", "", "medium",
     [](std::string_view head, const Input&) {
       return has_cells(head, {"InstanceType", "Price", "Region"});
     }},
    {"karpenter", read_karpenter, "karpenter provider: price table", "Apache-2.0", "high",
     [](std::string_view head, const Input&) {
       return first_mark(head) == '{' ||
              ((holds(head, "\npackage ") || head.starts_with("package ")) && holds(head, "map[string]"));
     }},
    {"cyclenerd", read_cyclenerd, "Cyclenerd/google-cloud-pricing-cost-calculator: pricing.yml", "Apache-2.0", "high",
     [](std::string_view head, const Input&) {
       return holds(head, "\ncompute:") || head.starts_with("compute:") || holds(head, "\nabout:") ||
              head.starts_with("about:");
     }},
    {"vantage", read_vantage, "vantage-sh/ec2instances.info: instances.json", "MIT", "medium",
     [](std::string_view head, const Input&) { return first_mark(head) == '['; }},
}};

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names = {"auto"};
  for (const Format& format : formats) names.emplace_back(format.name);
  return names;
}

const Format& format_of(const Input& input, std::string_view name) {
  const auto named = std::find_if(formats.begin(), formats.end(), [&](const Format& f) { return f.name == name; });
  if (named != formats.end()) return *named;
  if (name != "auto") {
    throw UserError(fmt::format("--format '{}': expected {}", sanitised_text(name), quoted_choice(format_names())));
  }
  const auto fitting =
      std::find_if(formats.begin(), formats.end(), [&](const Format& f) { return f.fits(input.head(), input); });
  if (fitting != formats.end()) return *fitting;
  input.fail(1,
             "no format known here begins like this; expected a CSV file of gpuhunt (instance_name, location, price) "
             "or SkyPilot (InstanceType, Price, Region), a karpenter price table, Cyclenerd's pricing.yml or "
             "vantage's instances.json (--format names one)");
}

std::string provider_name(const Input& input, std::string_view word) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  std::string provider;  // it becomes the name of a file
  if (word.size() <= 32 && std::all_of(word.begin(), word.end(), good)) {
    provider = instance_name(std::string(word) + ":x").first;
  }
  if (provider.empty() || provider.front() == '-') {
    throw UserError(fmt::format("{}: \"{}\" is no name of a provider; --provider says whose prices these are",
                                input.name(), sanitised_text(word)));
  }
  return provider;
}

}  // namespace claimcheck::catalog_import
