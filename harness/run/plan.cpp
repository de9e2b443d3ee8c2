#include "harness/run/plan.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "harness/error.h"
#include "harness/nearest.h"

namespace claimcheck {
namespace {

// quick answers within about a minute of measuring; standard gives narrower intervals and all sizes; soak loads
// everything at once for as long as it takes heat and power limits to show. What lasts there sets the length of its
// repetitions itself.
constexpr std::array<Profile, 3> profiles{{
    {"quick", 6, 0.15, true, false},
    {"standard", 10, 0.5, false, false},
    {"soak", 10, 0.05, false, true},
}};

template <class T>
T field(const nlohmann::json& object, const std::string& where, const char* key, T fallback, bool required) {
  const auto found = object.find(key);
  if (found == object.end()) {
    if (!required) return fallback;
    throw std::invalid_argument(fmt::format("{}/{} is missing", where, key));
  }
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw std::invalid_argument(fmt::format("{}/{} has the wrong type", where, key));
  }
}

bool matches(const BenchmarkCase& what, const std::string& pattern) {
  for (const std::string* text : {&what.id, &what.benchmark, &what.metric}) {
    if (fnmatch(pattern.c_str(), text->c_str(), 0) == 0) return true;
  }
  // A bare family name stands for all its members: "memory" for "memory.triad".
  return what.id.starts_with(pattern + ".") || what.id.starts_with(pattern + "/");
}

std::vector<PlannedCase> chosen(const std::vector<BenchmarkCase>& cases, const PlanRequest& request, Plan& plan) {
  std::vector<bool> used(request.only.size(), false);
  std::vector<PlannedCase> result;
  for (const BenchmarkCase& what : cases) {
    bool wanted = request.only.empty();
    for (std::size_t i = 0; i < request.only.size(); ++i) {
      if (!matches(what, request.only[i])) continue;
      used[i] = true;
      wanted = true;
    }
    if (!wanted) continue;
    // Somebody who asks for a benchmark by name gets it, whatever the profile.
    if (request.only.empty() && request.soak != what.soak) {
      plan.left_out.emplace_back(what.id, what.soak ? "--profile soak measures it" : "not part of the soak profile");
      continue;
    }
    if (request.only.empty() && request.only_quick && !what.quick) {
      plan.left_out.emplace_back(what.id, "not part of the quick profile; --profile standard measures it");
      continue;
    }
    result.push_back({what, 0});
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    std::vector<std::string> names;
    for (const BenchmarkCase& what : cases) names.push_back(what.benchmark);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const std::vector<std::string> near = nearest(request.only[i], names, 3);
    throw UserError(fmt::format("--only {}: no benchmark matches{}; `claimcheck list` names all", request.only[i],
                                near.empty() ? "" : "; nearest: " + quoted_choice(near)));
  }
  return result;
}

double estimate_all(std::vector<PlannedCase>& cases, int repetitions, double min_time_seconds) {
  double total = 0;
  for (PlannedCase& planned : cases) {
    planned.estimated_seconds = estimate_seconds(planned.what, repetitions, min_time_seconds);
    total += planned.estimated_seconds;
  }
  return total;
}

// Leaves cases out until the rest fits; the ones that cannot run here cost nothing and stay, so that the reason is
// told.
void cut_to_budget(Plan& plan, double budget_seconds) {
  std::vector<std::size_t> order(plan.cases.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const PlannedCase& x = plan.cases[a];
    const PlannedCase& y = plan.cases[b];
    if (x.what.priority != y.what.priority) return x.what.priority > y.what.priority;
    return x.estimated_seconds > y.estimated_seconds;
  });
  std::vector<bool> dropped(plan.cases.size(), false);
  for (const std::size_t i : order) {
    if (plan.estimated_seconds <= budget_seconds) break;
    if (!plan.cases[i].what.unsupported.empty()) continue;
    dropped[i] = true;
    plan.estimated_seconds -= plan.cases[i].estimated_seconds;
    plan.left_out.emplace_back(plan.cases[i].what.id, fmt::format("does not fit the budget of {}; its estimate is {}",
                                                                  duration_text(budget_seconds),
                                                                  duration_text(plan.cases[i].estimated_seconds)));
  }
  std::vector<PlannedCase> kept;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    if (!dropped[i]) kept.push_back(plan.cases[i]);
  }
  plan.cases = std::move(kept);
}

}  // namespace

std::vector<BenchmarkCase> cases_from_description(const nlohmann::json& description) {
  const auto list = description.find("benchmarks");
  if (list == description.end() || !list->is_array()) throw std::invalid_argument("/benchmarks is not an array");
  std::vector<BenchmarkCase> cases;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const nlohmann::json& object = (*list)[i];
    const std::string where = fmt::format("/benchmarks/{}", i);
    if (!object.is_object()) throw std::invalid_argument(where + " is not an object");
    BenchmarkCase what;
    what.id = field<std::string>(object, where, "id", {}, true);
    what.benchmark = field<std::string>(object, where, "benchmark", what.id, false);
    what.metric = field<std::string>(object, where, "metric", {}, true);
    what.unit = field<std::string>(object, where, "unit", {}, true);
    what.method = field<std::string>(object, where, "method", {}, true);
    what.scope = field<std::string>(object, where, "scope", {}, false);
    what.summary = field<std::string>(object, where, "summary", {}, false);
    what.unsupported = field<std::string>(object, where, "unsupported", {}, false);
    what.priority = field<int>(object, where, "priority", 2, false);
    what.quick = field<bool>(object, where, "quick", true, false);
    what.soak = field<bool>(object, where, "soak", false, false);
    what.setup_seconds = field<double>(object, where, "setup_seconds", 1, false);
    what.iteration_seconds = field<double>(object, where, "iteration_seconds", 0, false);
    if (const auto also = object.find("also"); also != object.end() && also->is_array()) {
      for (const nlohmann::json& further : *also) {
        what.also.emplace_back(field<std::string>(further, where + "/also", "metric", {}, true),
                               field<std::string>(further, where + "/also", "unit", {}, true));
      }
    }
    cases.push_back(std::move(what));
  }
  return cases;
}

const Profile* find_profile(std::string_view name) {
  for (const Profile& profile : profiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const Profile& profile : profiles) names.emplace_back(profile.name);
  return names;
}

double estimate_seconds(const BenchmarkCase& what, int repetitions, double min_time_seconds) {
  if (!what.unsupported.empty()) return 0;
  if (what.iteration_seconds > min_time_seconds) return what.setup_seconds + what.iteration_seconds * (repetitions + 1);
  return what.setup_seconds + min_time_seconds * (repetitions + 2.5);
}

Plan make_plan(const std::vector<BenchmarkCase>& cases, const PlanRequest& request) {
  Plan plan;
  plan.repetitions = request.repetitions;
  plan.min_time_seconds = request.min_time_seconds;
  plan.cases = chosen(cases, request, plan);
  std::stable_sort(plan.cases.begin(), plan.cases.end(),
                   [](const PlannedCase& a, const PlannedCase& b) { return a.what.priority < b.what.priority; });
  plan.estimated_seconds = estimate_all(plan.cases, plan.repetitions, plan.min_time_seconds);
  if (!request.budget_seconds || plan.estimated_seconds <= *request.budget_seconds) return plan;
  if (request.soak) {
    throw UserError(
        fmt::format("--budget {}: the soak takes about {}; give a shorter --duration, or leave --budget out",
                    duration_text(*request.budget_seconds), duration_text(plan.estimated_seconds)));
  }

  const double longest = plan.min_time_seconds;
  for (double shorter = longest;
       shorter > min_time_floor_seconds && plan.estimated_seconds > *request.budget_seconds;) {
    shorter = std::max(min_time_floor_seconds, shorter * 0.8);
    plan.min_time_seconds = shorter;
    plan.estimated_seconds = estimate_all(plan.cases, plan.repetitions, shorter);
  }
  double shortest_case = 0;
  for (const PlannedCase& planned : plan.cases) {
    if (planned.estimated_seconds <= 0) continue;
    shortest_case = shortest_case == 0 ? planned.estimated_seconds : std::min(shortest_case, planned.estimated_seconds);
  }
  if (shortest_case > *request.budget_seconds) {
    throw UserError(fmt::format("--budget {}: not even the shortest benchmark fits; it takes about {}",
                                duration_text(*request.budget_seconds), duration_text(std::ceil(shortest_case))));
  }
  cut_to_budget(plan, *request.budget_seconds);
  return plan;
}

nlohmann::json to_json(const Plan& plan) {
  nlohmann::json benchmarks = nlohmann::json::array();
  for (const PlannedCase& planned : plan.cases) {
    const BenchmarkCase& what = planned.what;
    nlohmann::json also = nlohmann::json::array();
    for (const auto& [metric, unit] : what.also) also.push_back({{"metric", metric}, {"unit", unit}});
    benchmarks.push_back({{"id", what.id},
                          {"benchmark", what.benchmark},
                          {"metric", what.metric},
                          {"unit", what.unit},
                          {"method", what.method},
                          {"unsupported", what.unsupported},
                          {"priority", what.priority},
                          {"setup_seconds", what.setup_seconds},
                          {"iteration_seconds", what.iteration_seconds},
                          {"also", also},
                          {"estimated_seconds", planned.estimated_seconds}});
  }
  nlohmann::json left_out = nlohmann::json::array();
  for (const auto& [id, reason] : plan.left_out) left_out.push_back({{"id", id}, {"reason", reason}});
  return {{"benchmarks", benchmarks},
          {"left_out", left_out},
          {"repetitions", plan.repetitions},
          {"min_time_seconds", plan.min_time_seconds},
          {"estimated_seconds", plan.estimated_seconds}};
}

Plan plan_from(const nlohmann::json& value) {
  Plan plan;
  const std::vector<BenchmarkCase> cases = cases_from_description(value);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string where = fmt::format("/benchmarks/{}", i);
    plan.cases.push_back({cases[i], field<double>(value["benchmarks"][i], where, "estimated_seconds", 0, true)});
  }
  if (const auto list = value.find("left_out"); list != value.end() && list->is_array()) {
    for (const nlohmann::json& one : *list) {
      plan.left_out.emplace_back(field<std::string>(one, "/left_out", "id", {}, true),
                                 field<std::string>(one, "/left_out", "reason", {}, true));
    }
  }
  plan.repetitions = field<int>(value, "", "repetitions", 0, true);
  plan.min_time_seconds = field<double>(value, "", "min_time_seconds", 0, true);
  plan.estimated_seconds = field<double>(value, "", "estimated_seconds", 0, true);
  return plan;
}

double parse_duration(std::string_view text, std::string_view option) {
  double total = 0;
  std::string rest(text);
  bool any = false;
  while (!rest.empty()) {
    std::size_t used = 0;
    double number = -1;
    try {
      number = std::stod(rest, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    const char unit = used < rest.size() ? rest[used] : 's';
    const double factor = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : unit == 'd' ? 86400 : 0;
    if (used == 0 || !(number >= 0) || !std::isfinite(number) || factor == 0) {
      throw UserError(fmt::format("{} {}: expected a duration such as 90s, 5m or 1h30m", option, text));
    }
    total += number * factor;
    any = true;
    rest.erase(0, std::min(used + 1, rest.size()));
  }
  if (!any || total <= 0) throw UserError(fmt::format("{} {}: expected a duration above 0, such as 5m", option, text));
  return total;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (seconds < 10) return fmt::format("{:.1f} s", std::max(seconds, 0.0));
  return fmt::format("{} s", whole);
}

}  // namespace claimcheck
