#include "harness/run/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "harness/error.h"
#include "harness/run/journal.h"

namespace claimcheck {
namespace {

namespace fs = std::filesystem;

constexpr const char* results_folder = "claimcheck-results";

std::string format_utc(const char* pattern) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, pattern, &parts)};
}

// Or never begun: of a journal without a whole line there is nothing to resume.
bool finished(const fs::path& journal) {
  const std::vector<nlohmann::json> lines = read_journal(journal);
  if (lines.empty()) return true;
  for (const nlohmann::json& line : lines) {
    if (line["kind"] == "done" && line.value("status", "") == "complete") return true;
  }
  return false;
}

void move_aside(const OutputDirectory& out) {
  struct stat state {};
  stat(out.journal().c_str(), &state);
  std::tm parts{};
  gmtime_r(&state.st_mtime, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &parts);
  for (const fs::path& file : {out.journal(), out.result(), out.page(), out.worker_log()}) {
    if (!fs::exists(file)) continue;
    fs::path target =
        file.parent_path() / fmt::format("{}-{}{}", file.stem().string(), stamp, file.extension().string());
    for (int copy = 2; fs::exists(target); ++copy) {
      target =
          file.parent_path() / fmt::format("{}-{}-{}{}", file.stem().string(), stamp, copy, file.extension().string());
    }
    fs::rename(file, target);
  }
}

}  // namespace

std::string utc_now() { return format_utc("%Y-%m-%dT%H:%M:%SZ"); }
std::string utc_now_compact() { return format_utc("%Y%m%dT%H%M%SZ"); }

fs::path default_output(const std::string& instance) {
  std::string name;
  for (const char c : instance) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    name += plain ? c : '-';
  }
  return fs::path(results_folder) / fmt::format("{}-{}", utc_now_compact(), name.empty() ? "unknown" : name);
}

OutputDirectory open_new(const fs::path& path) {
  const OutputDirectory out{path};
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw UserError(fmt::format("--out {}: cannot make this directory: {}", path.string(),
                                error ? error.message() : "a file is in the way"));
  }
  if (access(path.c_str(), W_OK) != 0) throw UserError(fmt::format("--out {}: not writable", path.string()));
  if (fs::exists(out.journal())) {
    if (!finished(out.journal())) {
      throw UserError(
          fmt::format("--out {}: holds a run that is not finished; finish it with --resume, or choose another "
                      "directory",
                      path.string()));
    }
    move_aside(out);
  }
  return out;
}

void remove_leftovers(const OutputDirectory& out) {
  std::error_code error;
  for (fs::directory_iterator entry(out.path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool ours = name.starts_with(".result.json.") || name.starts_with(".report.html.");
    if (ours && name.ends_with(".tmp")) fs::remove(entry->path(), ignored);
  }
}

OutputDirectory open_existing(const fs::path& path) {
  if (!path.empty()) {
    const OutputDirectory out{path};
    if (!fs::exists(out.journal())) {
      throw UserError(fmt::format("--resume: {} does not exist; nothing was begun there", out.journal().string()));
    }
    return out;
  }
  std::vector<fs::path> runs;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(results_folder, error)) {
    if (fs::exists(entry.path() / "journal.jsonl")) runs.push_back(entry.path());
  }
  if (runs.empty())
    throw UserError(fmt::format("--resume: no run under {}/; name its directory with --out", results_folder));
  return {*std::max_element(runs.begin(), runs.end())};
}

}  // namespace claimcheck
