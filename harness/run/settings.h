// What the user asked of `claimcheck run`. The measuring part goes into the journal, so that --resume measures the
// same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace claimcheck {

// Decides what is measured and how. Unset numbers: the profile's, or the worker's own choice.
struct MeasureSettings {
  std::string profile = "quick";
  std::string budget;    // "5m"; empty: none
  std::string duration;  // of a soak, "30m"; empty: default_soak
  std::vector<std::string> only;
  std::string device = "auto";
  std::string worker;  // path of the worker program
  std::string launcher;
  std::optional<int> repetitions;
  std::optional<double> min_time_seconds;
  std::optional<double> case_limit_seconds;
  std::optional<double> silence_seconds;
  std::optional<std::uint64_t> max_bytes;
  std::optional<std::int64_t> max_gemm;
  std::optional<std::uint64_t> file_bytes;
  std::optional<int> threads;
  std::uint64_t seed = 1;
  std::string scratch;                      // empty: inside the output directory
  std::string checkpoint_dir;               // empty: checkpoints go to `scratch` only
  std::vector<std::string> worker_options;  // passed on as they are (tests)
};

inline constexpr const char* default_soak = "10m";

// Decides how it is judged and priced; can be changed on --resume.
struct JudgeSettings {
  std::string instance;
  std::string price;
  std::string currency;
  std::string term;
  std::vector<std::string> fx;
  std::vector<std::string> claims;
  bool strict = false;
};

struct RunSettings {
  MeasureSettings measure;
  JudgeSettings judge;
  std::filesystem::path out;  // empty: claimcheck-results/<UTC time>-<instance>
  bool resume = false;
  bool dry_run = false;
  bool json = false;
  bool keep_identifiers = false;
  std::filesystem::path system_root = "/";  // tests
  std::vector<std::string> command;         // as typed, for the record
};

nlohmann::json to_json(const MeasureSettings& settings);
nlohmann::json to_json(const JudgeSettings& settings);
// Of a journal's `run` line. Throw UserError naming the field.
MeasureSettings measure_settings_from(const nlohmann::json& value);
JudgeSettings judge_settings_from(const nlohmann::json& value);

// Options of the worker that decide its cases and sizes. Throws UserError when `duration` is no duration.
std::vector<std::string> worker_options(const MeasureSettings& settings);

}  // namespace claimcheck
