// What a run will measure, in which order, and how long that takes. Pure: from what the worker describes, a profile and
// a time budget.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace claimcheck {

// One case as the worker's --describe lists it.
struct BenchmarkCase {
  std::string id;         // "gemm.fp32/n:4096"
  std::string benchmark;  // "gemm.fp32"
  std::string metric;
  std::string unit;
  std::string method;
  std::string scope;
  std::string summary;
  std::string unsupported;  // why it cannot run here, empty when it can
  int priority = 2;         // 1 is measured first and left out last
  bool quick = true;
  bool soak = false;  // of the soak profile, and of no other
  double setup_seconds = 0;
  double iteration_seconds = 0;
  std::vector<std::pair<std::string, std::string>> also;  // metric, unit
};

// Throws std::invalid_argument naming the JSON pointer when the worker's answer is malformed.
std::vector<BenchmarkCase> cases_from_description(const nlohmann::json& description);

struct Profile {
  std::string_view name;
  int repetitions;
  double min_time_seconds;  // of one repetition
  bool only_quick;
  bool soak;  // only what is made to last; as long as --duration says
};

// quick, standard, soak; nullptr when unknown.
const Profile* find_profile(std::string_view name);
std::vector<std::string> profile_names();

struct PlanRequest {
  int repetitions = 6;
  double min_time_seconds = 0.15;
  bool only_quick = true;
  bool soak = false;
  std::vector<std::string> only;  // shell patterns on id, benchmark or metric; empty: all
  std::optional<double> budget_seconds;
};

struct PlannedCase {
  BenchmarkCase what;
  double estimated_seconds = 0;
};

struct Plan {
  std::vector<PlannedCase> cases;                             // in the order of measuring
  std::vector<std::pair<std::string, std::string>> left_out;  // id, reason
  int repetitions = 0;
  double min_time_seconds = 0;
  double estimated_seconds = 0;
};

// Setup, Google Benchmark's search for the iteration count and the warm-up (about 2.5 repetitions), the repetitions.
double estimate_seconds(const BenchmarkCase& what, int repetitions, double min_time_seconds);

// With a budget: first shorter repetitions (not below min_time_floor), then cases are left out, lowest priority and
// longest first. Throws UserError when a pattern matches nothing (naming the nearest) or no case fits the budget, and
// when a soak does not fit whole: half of one would answer another question.
Plan make_plan(const std::vector<BenchmarkCase>& cases, const PlanRequest& request);

// For the journal: everything a later --resume needs. plan_from throws std::invalid_argument.
nlohmann::json to_json(const Plan& plan);
Plan plan_from(const nlohmann::json& value);

inline constexpr double min_time_floor_seconds = 0.05;

// "90", "90s", "5m", "1h30m" in seconds; throws UserError naming the option.
double parse_duration(std::string_view text, std::string_view option);

// "1 min 05 s", "12 s".
std::string duration_text(double seconds);

}  // namespace claimcheck
