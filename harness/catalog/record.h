// One record of a catalog file, read field by field. Every error knows file, place, what was expected and what stood
// there.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

using Words = std::vector<std::string_view>;

class CatalogError : public std::runtime_error {
 public:
  CatalogError(std::string file, std::string place, const std::string& text)
      : std::runtime_error(text), file_(std::move(file)), place_(std::move(place)) {}
  const std::string& file() const noexcept { return file_; }
  const std::string& place() const noexcept { return place_; }

 private:
  std::string file_;
  std::string place_;
};

// "2026-07-20", "2026-07" or "2026".
bool is_date(std::string_view text);

// The word, when it is one of `words`; else an error text naming the nearest.
std::optional<std::string> not_one_of(std::string_view word, const Words& words);

class Record {
 public:
  // `value` outlives the record. Throws CatalogError unless it is an object without unknown fields.
  Record(const nlohmann::json& value, std::string file, std::string pointer, const Words& fields);

  std::string text(const char* field) const;              // a string that is not empty
  std::string optional_text(const char* field) const;     // empty when null or absent
  std::optional<double> number(const char* field) const;  // not negative; unset when null or absent
  std::optional<int> count(const char* field) const;
  std::vector<std::string> list(const char* field) const;  // of strings; empty when absent
  nlohmann::json object(const char* field) const;          // empty object when null or absent
  std::string word(const char* field, const Words& words) const;

  // At least one. Every line has a source.
  std::vector<std::string> sources() const;
  // A date, or empty when the record says "undated": true. Neither is an error, and so are both.
  std::string date() const;

  std::string place() const { return file_ + " " + pointer_; }
  [[noreturn]] void fail(std::string_view field, const std::string& text) const;

 private:
  const nlohmann::json* find(const char* field) const;  // nullptr when null or absent

  const nlohmann::json& value_;
  std::string file_;
  std::string pointer_;
};

}  // namespace claimcheck
