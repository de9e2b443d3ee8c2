// claimcheck probe: what machine is this, and what is wrong already.
#include "harness/probe/probe.h"

#include <fmt/format.h>

#include <memory>

#include "harness/cli/commands.h"
#include "harness/report/layout.h"
#include "harness/report/sanitise.h"
#include "harness/result/document.h"

namespace claimcheck::cli {
namespace {

constexpr std::size_t width = 100;
constexpr std::size_t indent = 12;

// Nested facts as "key value, key value"; unknown (null) ones are left out.
std::string in_words(const nlohmann::json& value) {
  if (value.is_string()) return sanitised_text(value.get<std::string>());
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& item : value.items()) {
    if (item.value().is_null()) continue;
    if (!text.empty()) text += value.is_array() ? "; " : ", ";
    if (value.is_object()) text += sanitised_text(item.key()) + " ";
    text += in_words(item.value());
  }
  return text;
}

void print_section(const std::string& title, const nlohmann::json& object) {
  fmt::print("{}\n", title);
  for (const auto& item : object.items()) {
    const std::string text = in_words(item.value());
    if (item.value().is_null() || text.empty()) continue;
    const std::string heading = fmt::format("  {:<{}}", item.key(), indent);
    fmt::print("{}", labelled(heading, text, heading.size() + 2, width));
  }
}

}  // namespace

void add_probe(CLI::App& app, Global& /*global*/) {
  CLI::App* command =
      app.add_subcommand("probe", "Say what machine this is, and what is wrong already; measures nothing");
  auto options = std::make_shared<ProbeOptions>();
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON document");
  command->add_flag("--keep-identifiers", options->keep_identifiers, "Keep host name and serials in clear");
  command->add_option("--system-root", options->root)->group("");
  command->footer("Examples:\n  claimcheck probe\n  claimcheck probe --json");
  command->callback([options, json] {
    const nlohmann::json platform = probe_platform(*options);
    const nlohmann::json system = probe_system(*options);
    std::vector<Finding> findings = platform_findings(platform, system);
    for (Finding& finding : system_findings(system)) findings.push_back(std::move(finding));
    if (*json) {
      nlohmann::json document{{"platform", platform}, {"system", system}, {"findings", nlohmann::json::array()}};
      for (const Finding& finding : findings) document["findings"].push_back(to_json(finding));
      fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
      return;
    }
    print_section("platform", platform);
    nlohmann::json short_system = system;
    short_system.erase("software_found");  // `software` has the newest of each
    print_section("system", short_system);
    fmt::print("{}\n", findings.empty() ? "nothing wrong found" : "findings");
    for (const Finding& finding : findings) {
      fmt::print("{}", labelled("  " + finding.severity, finding.text, 4, width));
      if (!finding.next_step.empty()) fmt::print("{}", labelled("    ->", finding.next_step, 6, width));
    }
  });
}

}  // namespace claimcheck::cli
