#include "harness/run/resume.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>
#include <stdexcept>

#include "harness/error.h"
#include "harness/result/document.h"
#include "harness/run/journal.h"

namespace claimcheck {
namespace {

Finding finding_from(const nlohmann::json& value) {
  Finding finding;
  finding.id = value.value("id", std::string());
  finding.severity = value.value("severity", std::string("info"));
  finding.text = value.value("text", std::string());
  finding.next_step = value.value("next_step", std::string());
  finding.cause = value.value("cause", std::string());
  if (const auto evidence = value.find("evidence"); evidence != value.end()) finding.evidence = *evidence;
  return finding;
}

// What it says is run: the worker, its options, the launcher.
void refuse_strangers(const std::filesystem::path& journal) {
  struct stat state {};
  if (stat(journal.c_str(), &state) != 0 || state.st_uid == geteuid()) return;
  throw UserError(
      fmt::format("{}: belongs to another user (uid {}); a journal names the programs that a resumed run "
                  "starts, so only its owner can resume it",
                  journal.string(), state.st_uid));
}

}  // namespace

Resumed read_resumed(const std::filesystem::path& journal) {
  refuse_strangers(journal);
  const std::vector<nlohmann::json> lines = read_journal(journal);
  if (lines.empty() || lines.front()["kind"] != "run") {
    throw UserError(fmt::format("{}: no run was begun in it; start a new one without --resume", journal.string()));
  }
  Resumed resumed;
  resumed.header = lines.front();
  std::map<std::string, std::vector<Measurement>> measured;  // by case
  std::set<std::string> ended;
  try {
    const nlohmann::json& settings = resumed.header.at("settings");
    resumed.measure = measure_settings_from(settings.at("measure"));
    resumed.judge = judge_settings_from(settings.at("judge"));
    resumed.plan = plan_from(resumed.header.at("plan"));
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const nlohmann::json& line = lines[i];
      const std::string kind = line["kind"];
      if (kind == "measurement") {
        Measurement measurement = measurement_from(line.at("measurement"), fmt::format("line {}", i + 1));
        measured[measurement.id].push_back(std::move(measurement));
      } else if (kind == "finding") {
        resumed.findings.push_back(finding_from(line.at("finding")));
      } else if (kind == "end") {
        ended.insert(line.at("id").get<std::string>());
        resumed.measured_seconds += line.at("seconds").get<double>();
      } else if (kind == "system") {
        resumed.header["system"] = line.at("system");
      } else if (kind == "begin") {
        measured.erase(line.at("id").get<std::string>());  // of an earlier, unfinished try
      }
    }
  } catch (const std::invalid_argument& error) {
    throw UserError(fmt::format("{}:1: the plan cannot be read: {}", journal.string(), error.what()));
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("{}: cannot be resumed: {}", journal.string(), error.what()));
  }
  resumed.rest = resumed.plan;
  resumed.rest.cases.clear();
  for (const PlannedCase& planned : resumed.plan.cases) {
    if (ended.count(planned.what.id) == 0) {
      resumed.rest.cases.push_back(planned);
      continue;
    }
    for (Measurement& measurement : measured[planned.what.id]) resumed.measurements.push_back(std::move(measurement));
  }
  return resumed;
}

}  // namespace claimcheck
