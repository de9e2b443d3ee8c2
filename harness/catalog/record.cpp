#include "harness/catalog/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "harness/nearest.h"
#include "harness/result/json_text.h"

namespace claimcheck {
namespace {

std::string shown(const nlohmann::json& value) {
  const std::string text = dump_json(value, -1);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

bool digits(std::string_view text, std::size_t length) {
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool between(std::string_view text, int low, int high) {
  const int value = (text[0] - '0') * 10 + (text[1] - '0');
  return value >= low && value <= high;
}

}  // namespace

bool is_date(std::string_view text) {
  if (!digits(text.substr(0, 4), 4)) return false;
  if (text.size() == 4) return true;
  if (text.size() < 7 || text[4] != '-' || !digits(text.substr(5, 2), 2) || !between(text.substr(5, 2), 1, 12)) {
    return false;
  }
  if (text.size() == 7) return true;
  if (text.size() != 10 || text[7] != '-' || !digits(text.substr(8, 2), 2)) return false;
  const auto number = [&](std::size_t at, std::size_t count) { return std::stoi(std::string(text.substr(at, count))); };
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)),
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

std::optional<std::string> not_one_of(std::string_view word, const Words& words) {
  if (std::find(words.begin(), words.end(), word) != words.end()) return std::nullopt;
  const std::vector<std::string> valid(words.begin(), words.end());
  const std::vector<std::string> near = nearest(word, valid, 1);
  if (!near.empty()) return fmt::format(R"(unknown "{}"; the nearest valid one is "{}")", word, near.front());
  return fmt::format("unknown \"{}\"; expected {}", word, quoted_choice(valid));
}

Record::Record(const nlohmann::json& value, std::string file, std::string pointer, const Words& fields)
    : value_(value), file_(std::move(file)), pointer_(std::move(pointer)) {
  if (!value.is_object()) throw CatalogError(file_, pointer_, "expected an object, found " + shown(value));
  for (const auto& item : value.items()) {
    if (const auto error = not_one_of(item.key(), fields)) fail(item.key(), "field " + *error);
  }
}

void Record::fail(std::string_view field, const std::string& text) const {
  throw CatalogError(file_, field.empty() ? pointer_ : fmt::format("{}/{}", pointer_, field), text);
}

const nlohmann::json* Record::find(const char* field) const {
  const auto found = value_.find(field);
  return found == value_.end() || found->is_null() ? nullptr : &*found;
}

std::string Record::text(const char* field) const {
  const nlohmann::json* value = find(field);
  if (value == nullptr) fail(field, "missing; expected a text");
  if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
    fail(field, "expected a text that is not empty, found " + shown(*value));
  }
  return value->get<std::string>();
}

std::string Record::optional_text(const char* field) const { return find(field) == nullptr ? "" : text(field); }

std::optional<double> Record::number(const char* field) const {
  const nlohmann::json* value = find(field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) fail(field, "expected a number or null, found " + shown(*value));
  const double number = value->get<double>();
  if (!std::isfinite(number) || number < 0) {
    fail(field, "expected a finite number that is not negative, found " + shown(*value));
  }
  return number;
}

std::optional<int> Record::count(const char* field) const {
  const std::optional<double> value = number(field);
  if (!value) return std::nullopt;
  if (*value != std::floor(*value) || *value > 1e9) {
    fail(field, "expected a whole number or null, found " + shown(*find(field)));
  }
  return static_cast<int>(*value);
}

std::vector<std::string> Record::list(const char* field) const {
  const nlohmann::json* value = find(field);
  if (value == nullptr) return {};
  std::vector<std::string> texts;
  if (!value->is_array()) fail(field, "expected a list of texts, found " + shown(*value));
  for (const nlohmann::json& item : *value) {
    if (!item.is_string() || item.get_ref<const std::string&>().empty()) {
      fail(field, "expected a list of texts that are not empty, found " + shown(*value));
    }
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

nlohmann::json Record::object(const char* field) const {
  const nlohmann::json* value = find(field);
  if (value == nullptr) return nlohmann::json::object();
  if (!value->is_object()) fail(field, "expected an object, found " + shown(*value));
  return *value;
}

std::string Record::word(const char* field, const Words& words) const {
  std::string found = text(field);
  if (const auto error = not_one_of(found, words)) fail(field, *error);
  return found;
}

std::vector<std::string> Record::sources() const {
  std::vector<std::string> ids = list("source");
  if (ids.empty()) fail("source", "no source; expected at least one id of sources.json");
  return ids;
}

std::string Record::date() const {
  const nlohmann::json* undated = find("undated");
  const bool says_undated = undated != nullptr && *undated == true;
  std::string date = optional_text("date");
  if (date.empty() && !says_undated) fail("date", "no date; expected a date, or null and \"undated\": true");
  if (!date.empty() && says_undated) fail("date", "both a date and \"undated\": true; expected one of them");
  if (!date.empty() && !is_date(date)) {
    fail("date", fmt::format("\"{}\" is no date; expected YYYY-MM-DD, YYYY-MM or YYYY", date));
  }
  return date;
}

}  // namespace claimcheck
