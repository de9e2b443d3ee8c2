// OUT/journal.jsonl: every event worth keeping, written and synced before anything is shown. One JSON object a line:
// {"kind": "run" | "begin" | "measurement" | "finding" | "system" | "end" | "done", ...}. A torn last line is ignored
// by the reader.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace claimcheck {

// Writing the journal failed (disk full, read-only): measuring on would lose results.
class JournalError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Journal {
 public:
  // Opens for appending and locks the file, so that two runs cannot share a directory. Throws UserError.
  explicit Journal(const std::filesystem::path& file);
  // A new one, which is there with its first line or not at all. Throws UserError, also when there is one already.
  Journal(const std::filesystem::path& file, const nlohmann::json& first_line);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Throws JournalError naming file and cause; a line is written whole or cut back.
  void append(const nlohmann::json& line);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

// All whole lines. Throws UserError naming file and line when a line in the middle is not JSON.
std::vector<nlohmann::json> read_journal(const std::filesystem::path& file);

}  // namespace claimcheck
