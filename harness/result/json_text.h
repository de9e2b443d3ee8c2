// JSON from a stranger's file: limits, and errors that name the place in the words of a user.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace claimcheck {

inline constexpr std::size_t max_file_bytes = std::size_t{256} << 20;
inline constexpr int max_json_depth = 64;

// The whole file. Throws UserError: missing, unreadable, a directory, empty, over 256 MiB.
std::string read_text(const std::filesystem::path& file);

// One JSON value. Throws UserError "NAME:LINE:COLUMN: ...": not JSON, cut short, NaN or infinite numbers, deeper
// than 64.
nlohmann::json parse_json(std::string_view text, const std::string& name);

// As text. Strings that are not UTF-8 come out with U+FFFD in place of the bad bytes. indent -1: one line.
std::string dump_json(const nlohmann::json& value, int indent = 2);

}  // namespace claimcheck
