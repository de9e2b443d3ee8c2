// One JSON value and where it stands in its document: reading members with errors that name the place (JSON pointer),
// what was expected there, what was found, and the nearest valid choice.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace claimcheck {

class Shape {
 public:
  Shape(const nlohmann::json& value, std::string where) : value_(value), where_(std::move(where)) {}

  const nlohmann::json& value() const { return value_; }
  const std::string& where() const { return where_; }  // empty for the whole document

  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void expected(const std::string& what) const;  // adds what was found

  // Themselves, or fail().
  const Shape& object() const;
  const Shape& array() const;

  // Members of an object. The first fails when the key is missing.
  Shape member(const std::string& key) const;
  std::optional<Shape> optional_member(const std::string& key) const;  // unset when missing
  std::vector<Shape> elements() const;                                 // of an array

  double number() const;
  std::optional<double> number_or_null() const;
  int integer() const;
  bool boolean() const;
  std::string text() const;
  std::string filled_text() const;                                    // not empty
  std::string one_of(const std::vector<std::string>& words) const;    // of a closed list
  std::optional<std::pair<double, double>> interval_or_null() const;  // [low, high]

 private:
  const nlohmann::json& value_;
  std::string where_;
};

}  // namespace claimcheck
