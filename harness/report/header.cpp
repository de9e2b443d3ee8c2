// Reads the open parts of a document (run, platform, system): whatever is missing or odd there is left out.
#include "harness/report/header.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/report/quantity.h"
#include "harness/run/plan.h"

namespace claimcheck::report {
namespace {

using nlohmann::json;

const json& at(const json& value, const char* pointer) {
  static const json nothing = nullptr;
  const json::json_pointer place(pointer);
  return value.contains(place) ? value.at(place) : nothing;
}

std::string text(const json& value, const char* pointer) {
  const json& found = at(value, pointer);
  return found.is_string() ? found.get<std::string>() : std::string();
}

double number(const json& value, const char* pointer) {
  const json& found = at(value, pointer);
  return found.is_number() ? found.get<double>() : 0;
}

void append(std::string& line, const std::string& part, std::string_view separator = " · ") {
  if (part.empty()) return;
  if (!line.empty()) line += separator;
  line += part;
}

// "8 x NVIDIA H100", in the order of first mention.
std::string devices_text(const json& system) {
  std::vector<std::pair<std::string, int>> counts;
  for (const json& device : at(system, "/devices")) {
    const std::string name = text(device, "/name");
    const auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& count) { return count.first == name; });
    if (known == counts.end()) {
      counts.emplace_back(name, 1);
    } else {
      ++known->second;
    }
  }
  std::string line;
  for (const auto& [name, count] : counts) append(line, count > 1 ? fmt::format("{} x {}", count, name) : name, " + ");
  return line;
}

std::string machine_text(const Document& document) {
  std::string line = text(document.platform, "/instance");
  const std::string provider = text(document.platform, "/provider");
  if (!line.empty() && !provider.empty() && line.find(':') == std::string::npos) line = provider + ':' + line;
  if (line.empty()) line = "unknown instance";
  append(line, text(document.platform, "/region"), ", ");
  const std::string how = text(document.platform, "/how");
  if (!how.empty() && how != "unknown") line += " (" + how + ")";
  const std::string model = text(document.system, "/cpu/model");
  const std::string devices = devices_text(document.system);
  append(line, devices);
  if (devices.find(model) == std::string::npos) append(line, model);
  const double cores = number(document.system, "/cpu/usable_cores") > 0 ? number(document.system, "/cpu/usable_cores")
                                                                        : number(document.system, "/cpu/cores");
  if (cores > 0) append(line, fmt::format("{:.0f} core{}", cores, cores == 1 ? "" : "s"));
  if (const double bytes = number(document.system, "/memory_bytes"); bytes > 0) append(line, binary_bytes_text(bytes));
  return line;
}

std::string software_text(const Document& document) {
  std::string line = text(document.system, "/os/name");
  if (line.empty()) line = text(document.system, "/os");
  const std::string kernel = text(document.system, "/kernel");
  append(line, kernel.empty() ? "" : "kernel " + kernel);
  const std::string driver = text(document.system, "/nvidia_driver");
  append(line, driver.empty() ? "" : "NVIDIA driver " + driver);
  for (const char* key : {"virtualization", "container"}) {
    const std::string found = text(document.system, fmt::format("/{}", key).c_str());
    if (found != "none" && found != "other") append(line, found);
  }
  for (const auto& item : at(document.system, "/software").items()) {
    const std::string version = item.value().is_string() ? item.value().get<std::string>() : std::string();
    if (!version.empty() && version != "present" && item.key() != "python" && item.key() != "driver")
      append(line, item.key() + ' ' + version);
  }
  return line;
}

std::string plan_text(const json& run) {
  std::string line = text(run, "/profile");
  if (!line.empty()) line += " profile";
  const std::size_t benchmarks = at(run, "/plan/benchmarks").size();
  if (benchmarks > 0) append(line, fmt::format("{} benchmark{}", benchmarks, benchmarks == 1 ? "" : "s"), ", ");
  const double measured = number(run, "/measuring_seconds");
  const double estimated = number(run, "/plan/estimated_seconds");
  if (measured > 0) append(line, "measured in " + duration_text(measured), ", ");
  if (estimated > 0) append(line, "planned " + duration_text(estimated), ", ");
  if (const double budget = number(run, "/budget_seconds"); budget > 0) {
    append(line, "budget " + duration_text(budget), ", ");
  }
  const std::size_t left_out = at(run, "/plan/left_out").size();
  if (left_out > 0) append(line, fmt::format("{} left out", left_out), ", ");
  return line;
}

// "2026-11-30T09:41:12Z" -> "2026-11-30 09:41:12 UTC".
std::string time_text(std::string iso) {
  if (iso.size() >= 20 && iso[10] == 'T' && iso.back() == 'Z') {
    iso[10] = ' ';
    return iso.substr(0, 19) + " UTC";
  }
  return iso;
}

std::string run_text(const json& run) {
  std::string line = time_text(text(run, "/started"));
  const std::string version = text(run, "/claimcheck");
  append(line, version.empty() ? "" : "claimcheck " + version);
  const std::string worker = text(run, "/worker/kind");
  append(line, worker.empty() ? "" : "worker " + worker);
  if (const std::string why = text(run, "/worker/why"); !worker.empty() && !why.empty()) line += " (" + why + ")";
  return line;
}

}  // namespace

std::vector<HeaderLine> header_lines(const Document& document) {
  std::vector<HeaderLine> lines;
  const auto line = [&](const std::string& heading, const std::string& content) {
    if (!content.empty()) lines.push_back({heading, content});
  };
  if (document.is_virtual) {
    line("VIRTUAL", "A simulated machine: these numbers were measured on no hardware and count for nothing.");
  }
  line("machine", machine_text(document));
  line("software", software_text(document));
  line("plan", plan_text(document.run));
  line("run", run_text(document.run));
  const std::string status = text(document.run, "/status");
  if (!status.empty() && status != "complete") {
    const std::string reason = text(document.run, "/reason");
    line(status == "failed" ? "FAILED" : "PARTIAL",
         reason.empty() ? "The run ended before everything was measured; what follows is what there is." : reason);
  }
  return lines;
}

bool is_warning(const HeaderLine& line) {
  return line.heading == "VIRTUAL" || line.heading == "PARTIAL" || line.heading == "FAILED";
}

}  // namespace claimcheck::report
