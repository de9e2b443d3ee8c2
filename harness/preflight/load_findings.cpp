// What the short load showed, and which findings of others spoil every figure.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/preflight/preflight.h"

namespace claimcheck::preflight {
namespace {

// In a report these are things to know; a machine that is to be benchmarked they make unfit.
constexpr std::array<std::string_view, 3> spoiling = {"gpu.in_use", "gpu.throttled", "gpu.clocks_low"};

std::optional<Finding> load_finding(const Measurement& measurement) {
  if (measurement.status == Outcome::ok || measurement.status == Outcome::unsupported) return std::nullopt;
  const bool unsteady = measurement.status == Outcome::unstable;
  Finding finding;
  finding.id = fmt::format("load.{}:{}", to_string(measurement.status), measurement.id);
  finding.severity = "error";
  if (unsteady) {
    finding.text = fmt::format("Under a short load {} did not hold still: {}.", measurement.id, measurement.reason);
    finding.next_step = "Somebody or something disturbs this machine; find out who before comparing figures.";
  } else {
    finding.text = fmt::format("A short load failed: {} {}: {}.", measurement.id, to_string(measurement.status),
                               measurement.reason);
    finding.next_step = "`claimcheck run` shows whether it stays so.";
  }
  return finding;
}

}  // namespace

std::vector<Finding> load_findings(const Document& document) {
  std::vector<Finding> found;
  for (const Measurement& measurement : document.measurements) {
    if (const auto finding = load_finding(measurement)) found.push_back(*finding);
  }
  return found;
}

void raise_what_spoils(std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    const auto is = [&](std::string_view id) {
      return finding.id == id || finding.id.starts_with(std::string(id) + ":");
    };
    if (std::any_of(spoiling.begin(), spoiling.end(), is)) finding.severity = "error";
  }
}

}  // namespace claimcheck::preflight
