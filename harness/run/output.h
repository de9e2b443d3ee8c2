// The output directory of a run: OUT/journal.jsonl, OUT/result.json, OUT/worker.log. Nothing in it is ever overwritten.
#pragma once

#include <filesystem>
#include <string>

namespace claimcheck {

struct OutputDirectory {
  std::filesystem::path path;
  std::filesystem::path journal() const { return path / "journal.jsonl"; }
  std::filesystem::path result() const { return path / "result.json"; }
  std::filesystem::path page() const { return path / "report.html"; }
  std::filesystem::path worker_log() const { return path / "worker.log"; }
};

// "2026-11-30T09:41:00Z" and "20261130T094100Z" of now.
std::string utc_now();
std::string utc_now_compact();

// claimcheck-results/<UTC time>-<instance>, instance reduced to letters, digits, '.', '_' and '-'.
std::filesystem::path default_output(const std::string& instance);

// Makes the directory for a new run. A finished run in it is moved to files named after its end; an unfinished one is
// refused with the way to finish it. Throws UserError.
OutputDirectory open_new(const std::filesystem::path& path);

// Half-written results of processes that were killed. The caller holds the journal.
void remove_leftovers(const OutputDirectory& out);

// The directory of a run to resume; with an empty path the latest under claimcheck-results/. Throws UserError.
OutputDirectory open_existing(const std::filesystem::path& path);

}  // namespace claimcheck
