// How long the machine took to be ready, and how long it is up: the kernel's clock, cloud-init's own times, and when
// the GPU driver made its device. Times of other clocks are taken relative to the boot.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "harness/probe/parts.h"

namespace claimcheck::probe {
namespace {

using nlohmann::json;

std::optional<double> decimal(std::string_view text) {
  try {
    std::size_t used = 0;
    const double value = std::stod(std::string(trimmed(text)), &used);
    if (std::isfinite(value) && value >= 0) return value;
  } catch (const std::exception&) {  // no number
  }
  return std::nullopt;
}

// Seconds since boot: "350.51 1200.00".
std::optional<double> uptime(const Tree& tree) {
  const auto line = tree.line("proc/uptime");
  return line ? decimal(std::string_view(*line).substr(0, line->find(' '))) : std::nullopt;
}

// When the kernel started, in seconds since 1970.
std::optional<double> boot_time(const Tree& tree) {
  const std::string text = tree.text("proc/stat").value_or("");
  for (const std::string_view line : lines_of(text))
    if (line.starts_with("btime ")) return decimal(line.substr(6));
  return std::nullopt;
}

// When the first process of this container started, in seconds since boot: field 22 of its stat, after the name, which
// may hold blanks and stands in brackets.
std::optional<double> first_process(const Tree& tree) {
  const auto line = tree.line("proc/1/stat");
  if (!line || line->rfind(')') == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(*line).substr(line->rfind(')') + 1);
  constexpr int fields_before = 19;  // the state is field 3
  for (int i = 0; i <= fields_before; ++i) {
    rest = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
    if (i < fields_before) rest = rest.substr(std::min(rest.find(' '), rest.size()));
  }
  const auto ticks = decimal(rest.substr(0, rest.find(' ')));
  const auto per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ticks && per_second > 0 ? std::optional(*ticks / per_second) : std::nullopt;
}

std::optional<double> since_first_process(const Tree& tree, std::optional<double> since_boot) {
  const double began = first_process(tree).value_or(-1);
  if (began < 0 || since_boot.value_or(-1) < began) return std::nullopt;
  return *since_boot - began;
}

// {status, finished_seconds (since boot), errors}; null without cloud-init. /run is empty after a boot, so its times
// are of this one; the copy in /var/lib may be of an earlier one and is not read.
json cloud_init(const Tree& tree, std::optional<double> boot, std::optional<double> up) {
  const std::string text = tree.text("run/cloud-init/status.json").value_or("");
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("v1") || !document["v1"].is_object()) return nullptr;
  const json& stages = document["v1"];
  const json last = stages.value("modules-final", json::object());
  const json finished = last.is_object() ? last.value("finished", json()) : json();
  std::size_t errors = 0;
  for (const json& stage : stages)
    if (stage.is_object() && stage.contains("errors") && stage["errors"].is_array()) errors += stage["errors"].size();
  json found = {{"status", finished.is_number() ? (errors > 0 ? "error" : "done") : "running"},
                {"finished_seconds", nullptr},
                {"errors", errors}};
  // A clock that was set in between makes the difference worthless.
  if (finished.is_number() && boot && up && finished.get<double>() >= *boot && finished.get<double>() - *boot <= *up)
    found["finished_seconds"] = finished.get<double>() - *boot;
  return found;
}

// The driver's device file is made when the driver is loaded; udev or nvidia-modprobe does so.
std::optional<double> driver(const Tree& tree, std::optional<double> boot, std::optional<double> up) {
  const auto made = tree.modified("dev/nvidiactl");
  if (!made || !boot || !up || *made < *boot || *made - *boot > *up) return std::nullopt;
  return *made - *boot;
}

}  // namespace

json startup(const Tree& tree, const json& container) {
  constexpr double longest = 3600;  // bare metal takes up to half an hour; after an hour people have been at work
  const bool inside = container.is_string() && container != "none";
  const auto since_boot = uptime(tree);
  const auto boot = boot_time(tree);
  json found = {{"since", inside ? "container" : "boot"},
                {"up_seconds", nullptr},
                {"first_benchmark_seconds", nullptr},
                {"ready_seconds", nullptr},
                {"cloud_init", nullptr},
                {"driver_seconds", nullptr},
                {"reason", ""},
                {"ready_reason", ""}};
  const std::optional<double> up = inside ? since_first_process(tree, since_boot) : since_boot;
  found["up_seconds"] = known(up);
  if (!up)
    found["reason"] = "no clock tells when it started";
  else if (*up > longest)
    found["reason"] = "up for more than an hour, which is no start-up time";
  else
    found["first_benchmark_seconds"] = *up;
  found["ready_reason"] = inside ? "a container does not tell when its machine was ready" : "no cloud-init tells";
  if (inside) return found;
  found["cloud_init"] = cloud_init(tree, boot, up);
  const auto loaded = driver(tree, boot, up);
  found["driver_seconds"] = known(loaded);
  const json& told = found["cloud_init"];
  if (!told.is_object()) return found;
  if (told["finished_seconds"].is_number()) {
    found["ready_seconds"] = std::max(told["finished_seconds"].get<double>(), loaded.value_or(0));
    found["ready_reason"] = "";
  } else {
    found["ready_reason"] = told["status"] == "running" ? "cloud-init was still at work" : "the clock was set since";
  }
  return found;
}

}  // namespace claimcheck::probe
