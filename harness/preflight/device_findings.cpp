// Device facts are those of --describe (`facts` of each device), sensors those that a measurement kept as evidence.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/judge/machine.h"
#include "harness/preflight/preflight.h"
#include "harness/report/quantity.h"

namespace claimcheck::preflight {
namespace {

using nlohmann::json;

// A process of one's own takes up to about this much of a GPU: the driver's context and the libraries.
constexpr double own_bytes = 1.5e9;
constexpr double own_share = 0.05;
constexpr double low_clock = 0.85;  // of the highest, without a power cap that would explain it
constexpr double lowered = 0.99;

struct Sensors {
  std::optional<double> highest_clock_mhz;
  std::string reasons;  // with a comma before and behind each
  double new_errors = 0;
  bool lost = false;
};

void take(const json& evidence, Sensors& sensors) {
  if (!evidence.is_object()) return;
  if (const auto clock = number_at(evidence, "/sm_clock_highest_mhz")) {
    sensors.highest_clock_mhz = std::max(sensors.highest_clock_mhz.value_or(0), *clock);
  }
  sensors.reasons += "," + text_at(evidence, "throttle_reasons") + ",";
  sensors.new_errors += number_at(evidence, "/ecc_uncorrected_new").value_or(0);
  sensors.lost = sensors.lost || flag_at(evidence, "gpu_lost");
}

// Of each device, over all measurements.
std::map<int, Sensors> sensors_of(const Document& document) {
  std::map<int, Sensors> all;
  for (const Measurement& measurement : document.measurements) {
    const json several = measurement.evidence.value("devices", json());
    for (std::size_t i = 0; i < measurement.devices.size(); ++i) {
      const json& own = measurement.devices.size() == 1            ? measurement.evidence
                        : several.is_array() && i < several.size() ? several[i]
                                                                   : json();
      take(own, all[measurement.devices[i].index]);
    }
  }
  return all;
}

class Findings {
 public:
  explicit Findings(int index) : index_(index) {}
  void add(const char* id, const char* severity, const std::string& text, const std::string& next,
           json evidence = json::object()) {
    list.push_back({fmt::format("{}:{}", id, index_), severity, fmt::format("GPU {} {}", index_, text), next,
                    std::move(evidence)});
  }
  std::vector<Finding> list;

 private:
  int index_;
};

void memory_taken(const json& device, Findings& findings) {
  const auto all = number_at(device, "/memory_bytes");
  const auto left = number_at(device, "/free_memory_bytes");
  if (!all || !left) return;
  const double taken = *all - *left;
  if (taken <= own_bytes || taken <= own_share * *all) return;
  findings.add("gpu.shared", "error",
               fmt::format("has {} of its memory taken by somebody else.", binary_bytes_text(taken)),
               "`nvidia-smi` lists the processes (from outside the container); end them, or take another GPU.",
               {{"taken_bytes", taken}});
}

void slowdown(const Sensors& sensors, Findings& findings) {
  const auto has = [&](const char* reason) {
    return sensors.reasons.find(fmt::format(",{},", reason)) != std::string::npos;
  };
  for (const auto& [reason, words] : {std::pair("hw_thermal_slowdown", "is slowed down by heat"),
                                      std::pair("sw_thermal_slowdown", "is slowed down by heat"),
                                      std::pair("hw_power_brake", "is braked by the power supply"),
                                      std::pair("hw_slowdown", "is slowed down by its hardware")}) {
    if (!has(reason)) continue;
    findings.add("gpu.throttled", "error", fmt::format("{} ({}).", words, reason),
                 "`nvidia-smi -q -d PERFORMANCE,TEMPERATURE`; ask the provider about cooling and power.",
                 {{"reason", reason}});
    return;
  }
}

void clock(const Sensors& sensors, const json& facts, Findings& findings) {
  const auto most = number_at(facts, "/max_sm_clock_mhz");
  if (!most || !sensors.highest_clock_mhz || *sensors.highest_clock_mhz >= low_clock * *most) return;
  if (sensors.reasons.find(",sw_power_cap,") != std::string::npos) return;  // as every healthy GPU under full load
  findings.add("gpu.clock", "error",
               fmt::format("went no higher than {:.0f} MHz of {:.0f} MHz under load, without a power cap.",
                           *sensors.highest_clock_mhz, *most),
               "Clocks are held down: `nvidia-smi -q -d CLOCK`, then `nvidia-smi -rac` and `-rgc` set them free.",
               {{"highest_mhz", *sensors.highest_clock_mhz}, {"max_mhz", *most}});
}

void limits(const json& facts, Findings& findings) {
  const auto limit = number_at(facts, "/power_limit_w");
  const auto usual = number_at(facts, "/power_limit_default_w");
  if (limit && usual && *limit < lowered * *usual) {
    findings.add("gpu.power_limit", "warning",
                 fmt::format("has a power limit of {:.0f} W; its default is {:.0f} W.", *limit, *usual),
                 fmt::format("`nvidia-smi -pl {:.0f}`, or compare only with results of this limit.", *usual));
  }
  if (flag_at(facts, "mig_instance") || flag_at(facts, "mig_enabled")) {
    findings.add("gpu.mig", "warning", "is cut into MIG instances: a slice is measured, and others may use the rest.",
                 "`nvidia-smi -mig 0` for the whole GPU, when nobody else has a slice.");
  }
  if (text_at(facts, "virtualization") == "vgpu") {
    findings.add("gpu.vgpu", "warning", "is a vGPU: its share depends on what others do.",
                 "Compare it with results of the same vGPU type only.");
  }
  const auto mode = facts.is_object() ? facts.find("persistence_mode") : facts.end();
  if (facts.is_object() && mode != facts.end() && *mode == false) {
    findings.add("gpu.persistence", "info", "is switched off whenever nobody uses it (persistence mode is off).",
                 "`nvidia-smi -pm 1`, or run nvidia-persistenced: starts are quicker, and clocks steadier.");
  }
}

void health(const Sensors& sensors, const json& facts, Findings& findings) {
  if (sensors.lost)
    findings.add("gpu.lost", "error", "was lost during the load.",
                 "`dmesg | grep -i xid`; reboot or return the machine.");
  if (sensors.new_errors > 0) {
    findings.add("gpu.ecc", "error",
                 fmt::format("had {:.0f} memory errors that could not be corrected.", sensors.new_errors),
                 "Do not use it; return the machine.");
  }
  if (flag_at(facts, "row_remap_failed")) {
    findings.add("gpu.row_remap", "error", "could not remap a bad row of its memory.", "Have the GPU replaced.");
  } else if (flag_at(facts, "row_remap_pending") || flag_at(facts, "retired_pages_pending")) {
    findings.add("gpu.row_remap", "warning", "has bad memory that is replaced only at its next reset.",
                 "Reboot the machine, or reset the GPU.");
  }
  const std::string fabric = text_at(facts, "fabric_state");
  if (fabric == "in_progress" || fabric == "not_started") {
    findings.add("gpu.fabric", "error", fmt::format("has not joined the NVLink fabric ({}).", fabric),
                 "Start the nvidia-fabricmanager that matches the driver.");
  }
  const auto links = number_at(facts, "/nvlink_links");
  const auto active = number_at(facts, "/nvlink_links_active");
  if (links && active && *active < *links) {
    findings.add("gpu.nvlink", "warning", fmt::format("has {:.0f} of {:.0f} NVLinks active.", *active, *links),
                 "`nvidia-smi nvlink -s`; ask the provider to look at the link.");
  }
}

std::optional<Finding> answer_finding(const Measurement& measurement) {
  if (measurement.status == Outcome::ok || measurement.status == Outcome::unsupported) return std::nullopt;
  const bool unsteady = measurement.status == Outcome::unstable;
  return Finding{fmt::format("load.{}:{}", to_string(measurement.status), measurement.id), "error",
                 unsteady
                     ? fmt::format("Under a short load {} did not hold still: {}.", measurement.id, measurement.reason)
                     : fmt::format("A short load failed: {} {}: {}.", measurement.id, to_string(measurement.status),
                                   measurement.reason),
                 unsteady ? "Somebody or something disturbs this machine; find out who before comparing figures."
                          : "`claimcheck run` shows whether it stays so.",
                 json::object()};
}

}  // namespace

std::vector<Finding> device_findings(const Document& document) {
  std::vector<Finding> found;
  std::map<int, Sensors> sensors = sensors_of(document);
  for (const json& device : document.system.value("devices", json::array())) {
    const json facts = device.is_object() ? device.value("facts", json::object()) : json();
    // The CPU has no such facts; cpu_now.h and the probe look at it.
    if (!facts.is_object() || !facts.contains("compute_capability")) continue;
    const int index = device.value("index", 0);
    Findings own(index);
    memory_taken(device, own);
    slowdown(sensors[index], own);
    clock(sensors[index], facts, own);
    limits(facts, own);
    health(sensors[index], facts, own);
    found.insert(found.end(), own.list.begin(), own.list.end());
  }
  for (const Measurement& measurement : document.measurements) {
    if (const auto finding = answer_finding(measurement)) found.push_back(*finding);
  }
  return found;
}

}  // namespace claimcheck::preflight
