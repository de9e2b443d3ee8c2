// Where nvidia-smi keeps what we want to know of a GPU, in each of its outputs, and what its words mean. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace claimcheck::importing {

enum class SmiOutput { text, xml, csv };  // -q, -q -x, --query-gpu

enum class SmiKind { text, word, flag, number, mib, sum, reason, identifier };

// `fact` is the worker's name for it (--describe); "/name" belongs to the device itself, "now/power_w" is what it was
// when nvidia-smi looked.
struct SmiKey {
  std::string_view fact;
  SmiKind kind;
  std::string_view text, xml, csv;  // lower case
};

// Of "ecc mode/current", "ecc_mode/current_ecc", "ecc.mode.current"; nullptr for what we do not want to know.
const SmiKey* find_smi_key(SmiOutput output, std::string_view place);

// A value without brackets and without what newer drivers append: "610.62 [Deprecated; ...]".
std::string_view smi_value(std::string_view raw);

// Whether it says only that there is no answer: N/A, Not Supported, deprecated, no permission.
bool smi_unknown(std::string_view value);

// What a GPU that does not answer has in place of values ("GPU is lost", "Unknown Error", "ERR!"), else empty.
std::string_view smi_sick(std::string_view value);

// The fact of a value; null where it is unknown or not of its kind.
nlohmann::json smi_fact(SmiKind kind, std::string_view value);

// "0000:3b:00.0" of "00000000:3B:00.0", "PCI:0000:3b:00", "3B:00.0"; unset when it is none.
std::optional<std::string> bus_id(std::string_view text);

std::string lower(std::string_view text);

}  // namespace claimcheck::importing
