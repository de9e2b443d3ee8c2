#include "harness/run/settings.h"

#include <fmt/format.h>

#include "harness/error.h"
#include "harness/run/plan.h"

namespace claimcheck {
namespace {

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

// Reads what is there; absent and null leave the default.
class Reader {
 public:
  explicit Reader(const nlohmann::json& value) : value_(value) {
    if (!value.is_object()) throw UserError("the journal's run line has no options; it cannot be resumed");
  }
  template <class T>
  void read(const char* key, T& target) const {
    const auto found = value_.find(key);
    if (found == value_.end() || found->is_null()) return;
    try {
      target = found->get<T>();
    } catch (const nlohmann::json::exception&) {
      throw UserError(
          fmt::format("the journal's run line: option \"{}\" has the wrong type; it cannot be resumed", key));
    }
  }
  template <class T>
  void read(const char* key, std::optional<T>& target) const {
    T value{};
    const auto found = value_.find(key);
    if (found == value_.end() || found->is_null()) return;
    read(key, value);
    target = value;
  }

 private:
  const nlohmann::json& value_;
};

}  // namespace

nlohmann::json to_json(const MeasureSettings& settings) {
  return {{"profile", settings.profile},
          {"budget", settings.budget},
          {"duration", settings.duration},
          {"only", settings.only},
          {"device", settings.device},
          {"worker", settings.worker},
          {"launcher", settings.launcher},
          {"repetitions", or_null(settings.repetitions)},
          {"min_time_seconds", or_null(settings.min_time_seconds)},
          {"case_limit_seconds", or_null(settings.case_limit_seconds)},
          {"silence_seconds", or_null(settings.silence_seconds)},
          {"max_bytes", or_null(settings.max_bytes)},
          {"max_gemm", or_null(settings.max_gemm)},
          {"file_bytes", or_null(settings.file_bytes)},
          {"threads", or_null(settings.threads)},
          {"seed", settings.seed},
          {"scratch", settings.scratch},
          {"checkpoint_dir", settings.checkpoint_dir},
          {"worker_options", settings.worker_options}};
}

nlohmann::json to_json(const JudgeSettings& settings) {
  return {{"instance", settings.instance}, {"price", settings.price}, {"currency", settings.currency},
          {"term", settings.term},         {"fx", settings.fx},       {"claims", settings.claims},
          {"strict", settings.strict}};
}

MeasureSettings measure_settings_from(const nlohmann::json& value) {
  const Reader reader(value);
  MeasureSettings settings;
  reader.read("profile", settings.profile);
  reader.read("budget", settings.budget);
  reader.read("duration", settings.duration);
  reader.read("only", settings.only);
  reader.read("device", settings.device);
  reader.read("worker", settings.worker);
  reader.read("launcher", settings.launcher);
  reader.read("repetitions", settings.repetitions);
  reader.read("min_time_seconds", settings.min_time_seconds);
  reader.read("case_limit_seconds", settings.case_limit_seconds);
  reader.read("silence_seconds", settings.silence_seconds);
  reader.read("max_bytes", settings.max_bytes);
  reader.read("max_gemm", settings.max_gemm);
  reader.read("file_bytes", settings.file_bytes);
  reader.read("threads", settings.threads);
  reader.read("seed", settings.seed);
  reader.read("scratch", settings.scratch);
  reader.read("checkpoint_dir", settings.checkpoint_dir);
  reader.read("worker_options", settings.worker_options);
  return settings;
}

JudgeSettings judge_settings_from(const nlohmann::json& value) {
  const Reader reader(value);
  JudgeSettings settings;
  reader.read("instance", settings.instance);
  reader.read("price", settings.price);
  reader.read("currency", settings.currency);
  reader.read("term", settings.term);
  reader.read("fx", settings.fx);
  reader.read("claims", settings.claims);
  reader.read("strict", settings.strict);
  return settings;
}

std::vector<std::string> worker_options(const MeasureSettings& settings) {
  std::vector<std::string> options{fmt::format("--seed={}", settings.seed)};
  if (settings.max_bytes) options.push_back(fmt::format("--max-bytes={}", *settings.max_bytes));
  if (settings.max_gemm) options.push_back(fmt::format("--max-gemm={}", *settings.max_gemm));
  if (settings.file_bytes) options.push_back(fmt::format("--file-bytes={}", *settings.file_bytes));
  if (settings.threads) options.push_back(fmt::format("--threads={}", *settings.threads));
  if (const Profile* profile = find_profile(settings.profile); profile != nullptr && profile->soak) {
    const double seconds = parse_duration(settings.duration.empty() ? default_soak : settings.duration, "--duration");
    options.push_back(fmt::format("--soak-seconds={}", seconds));
  }
  if (!settings.checkpoint_dir.empty()) options.push_back("--checkpoint-dir=" + settings.checkpoint_dir);
  options.insert(options.end(), settings.worker_options.begin(), settings.worker_options.end());
  return options;
}

}  // namespace claimcheck
