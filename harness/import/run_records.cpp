// Records that say why a run gave no result: {"exit_code": -1, "error_msg": "..."}. Not to have got a machine is a
// finding of its own, neither a rate of 0 nor nothing at all.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

struct Class {
  std::string_view id;
  std::string_view severity;
  std::string_view says;
  std::string_view next_step;
  std::array<std::string_view, 8> words;  // any of them, in lower case
};
constexpr std::array<Class, 5> classes = {{
    {"quota",
     "error",
     "the account may not have it (quota)",
     "Ask the provider to raise the quota; the platform itself is not judged by this.",
     {"quota", "limit exceeded", "limitexceeded", "vcpulimit", "exceeds the limit", "not authorized", "permission",
      "service limit"}},
    {"not_provisioned",
     "error",
     "the machine could not be had (no capacity)",
     "Try another zone or time; that it could not be had is worth noting as a property of the offer.",
     {"no server resources", "resources_unavailable", "insufficientinstancecapacity", "insufficient capacity",
      "allocationfailed", "out of capacity", "zone_resource_pool_exhausted", "not available"}},
    {"does_not_apply",
     "info",
     "the task does not apply to this machine",
     "",
     {"doesn't need to run", "precheck", "does not apply", "not applicable", "skipped", "\x01", "\x01", "\x01"}},
    {"timed_out",
     "error",
     "it did not end in time",
     "Run it again with more time, and look at what it was doing.",
     {"ended before task", "timed out", "timeout", "deadline", "killed after", "\x01", "\x01", "\x01"}},
    {"image",
     "error",
     "image, driver or start of the machine failed",
     "Take another image or driver; the hardware is not judged by this.",
     {"image", "driver", "unable to create", "cloud-init", "ssh", "boot", "docker", "\x01"}},
}};

bool read_record(Collected& collected, const json& value) {
  const auto code = number_of(value, "exit_code");
  if (!code || !value.contains("error_msg")) return false;
  const std::string said = text_of(value, "error_msg");
  std::string words = said;
  std::transform(words.begin(), words.end(), words.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (*code == 0 && said.empty()) {
    collected.note("a run that ended well: its own output holds the result");
    return true;
  }
  const std::string quote = said.empty() ? "" : fmt::format(" (\"{}\")", trimmed(said).substr(0, 240));
  for (const Class& one : classes) {
    const bool fits = std::any_of(one.words.begin(), one.words.end(), [&](auto word) { return contains(words, word); });
    if (!fits) continue;
    collected.add(Finding{fmt::format("import.no_result.{}", one.id),
                          std::string(one.severity),
                          fmt::format("No result, because {}{}.", one.says, quote),
                          std::string(one.next_step),
                          {{"class", one.id}, {"exit_code", *code}}});
    return true;
  }
  collected.add(Finding{"import.no_result.tool_failed",
                        "error",
                        fmt::format("No result, because the tool failed with exit code {:.0f}{}.", *code, quote),
                        "Look at the tool's own output.",
                        {{"class", "tool_failed"}, {"exit_code", *code}}});
  return true;
}

}  // namespace

bool document_run_records(Collected& collected, const json& value) {
  if (value.is_object()) return read_record(collected, value);
  if (!value.is_array() || value.empty()) return false;
  bool any = false;
  for (const json& entry : value) any = (entry.is_object() && read_record(collected, entry)) || any;
  return any;
}

}  // namespace claimcheck::importing
