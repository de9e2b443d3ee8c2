// The result document: OUT/result.json. Reading forgives older minor versions and names file and place of every error.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/result/measurement.h"
#include "harness/result/verdict.h"

namespace claimcheck {

inline constexpr int schema_major = 1;
inline constexpr int schema_minor = 0;

struct Document {
  nlohmann::json run = nlohmann::json::object();  // id, started, ended, status complete|partial|failed, profile, plan,
                                                  // options, command, tool version
  nlohmann::json platform =
      nlohmann::json::object();  // instance, provider, region, source of that knowledge; price when given
  nlohmann::json system = nlohmann::json::object();  // probe: cpu, memory, devices, software, environment allow-list
  std::vector<Measurement> measurements;
  std::vector<Finding> findings;
  std::vector<Verdict> verdicts;
  nlohmann::json cost = nullptr;  // null when not computed
  bool is_virtual = false;

  // What the reader has to say about a document it accepted (newer minor version, metric unknown here); not written.
  std::vector<std::string> notes;
};

nlohmann::json to_json(const Document& document);
nlohmann::json to_json(const Measurement& measurement);
nlohmann::json to_json(const Finding& finding);
nlohmann::json to_json(const Verdict& verdict);

// `where` is the JSON pointer of `value` in its document, for messages. Throw UserError (harness/error.h).
Measurement measurement_from(const nlohmann::json& value, const std::string& where);
Document document_from(const nlohmann::json& value);

// Reads and checks a file: exists, is a regular file, at most 256 MiB, depth at most 64, JSON, schema version, shape.
Document read_document(const std::filesystem::path& file);

// Temp file in the same directory, fsync, rename, fsync of the directory. Throws UserError; leaves no half file behind.
void write_atomically(const std::filesystem::path& file, std::string_view text);

}  // namespace claimcheck
