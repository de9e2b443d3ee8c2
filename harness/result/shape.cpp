// Error text: "/measurements/3/status: expected one of ..., found "okay"; nearest: "ok"".
#include "harness/result/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "harness/error.h"
#include "harness/nearest.h"
#include "harness/result/json_text.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// A value as it stands in a sentence: short, and without its contents when it has parts.
std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  std::string text = dump_json(value, -1);
  constexpr std::size_t longest = 60;
  if (text.size() > longest) {
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 character
    text = text.substr(0, end) + "...";
  }
  return text;
}

// RFC 6901: "~" and "/" inside a key.
std::string escaped(const std::string& key) {
  std::string text;
  for (const char c : key) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

void Shape::fail(const std::string& what) const {
  throw UserError(sanitised_text(fmt::format("{}: {}", where_.empty() ? "/" : where_, what)));
}

void Shape::expected(const std::string& what) const { fail(fmt::format("expected {}, found {}", what, shown(value_))); }

const Shape& Shape::object() const {
  if (!value_.is_object()) expected("an object");
  return *this;
}

const Shape& Shape::array() const {
  if (!value_.is_array()) expected("an array");
  return *this;
}

Shape Shape::member(const std::string& key) const {
  if (auto found = optional_member(key)) return *found;
  std::vector<std::string> keys;
  for (const auto& item : value_.items()) keys.push_back(item.key());
  const auto near = nearest(key, keys, 1);
  fail(fmt::format("expected a member \"{}\"{}", key,
                   near.empty() ? std::string() : fmt::format(", found {}", quoted_choice(near))));
}

std::optional<Shape> Shape::optional_member(const std::string& key) const {
  object();
  const auto found = value_.find(key);
  if (found == value_.end()) return std::nullopt;
  return Shape(*found, where_ + "/" + escaped(key));
}

std::vector<Shape> Shape::elements() const {
  array();
  std::vector<Shape> all;
  for (std::size_t i = 0; i < value_.size(); ++i) all.emplace_back(value_[i], fmt::format("{}/{}", where_, i));
  return all;
}

double Shape::number() const {
  if (!value_.is_number()) expected("a number");
  return value_.get<double>();
}

std::optional<double> Shape::number_or_null() const {
  if (value_.is_null()) return std::nullopt;
  if (!value_.is_number()) expected("a number or null");
  return value_.get<double>();
}

int Shape::integer() const {
  constexpr int least = std::numeric_limits<int>::min();
  constexpr int most = std::numeric_limits<int>::max();
  bool fits = false;
  if (value_.is_number_unsigned()) {
    fits = value_.get<std::uint64_t>() <= std::uint64_t{most};
  } else if (value_.is_number_integer()) {
    fits = value_.get<std::int64_t>() >= least && value_.get<std::int64_t>() <= most;
  }
  if (!fits) expected("an integer of 32 bits");
  return value_.get<int>();
}

bool Shape::boolean() const {
  if (!value_.is_boolean()) expected("true or false");
  return value_.get<bool>();
}

std::string Shape::text() const {
  if (!value_.is_string()) expected("a string");
  return value_.get<std::string>();
}

std::string Shape::filled_text() const {
  if (!value_.is_string() || value_.get_ref<const std::string&>().empty()) expected("a string that is not empty");
  return value_.get<std::string>();
}

std::string Shape::one_of(const std::vector<std::string>& words) const {
  if (value_.is_string() &&
      std::find(words.begin(), words.end(), value_.get_ref<const std::string&>()) != words.end()) {
    return value_.get<std::string>();
  }
  const auto near = value_.is_string() ? nearest(value_.get<std::string>(), words, 1) : std::vector<std::string>{};
  fail(fmt::format("expected one of {}, found {}{}", fmt::join(words, ", "), shown(value_),
                   near.empty() ? std::string() : fmt::format("; nearest: {}", quoted_choice(near))));
}

std::optional<std::pair<double, double>> Shape::interval_or_null() const {
  if (value_.is_null()) return std::nullopt;
  const bool pair = value_.is_array() && value_.size() == 2 && value_[0].is_number() && value_[1].is_number();
  if (!pair || value_[0].get<double>() > value_[1].get<double>()) expected("null or [low, high] with low <= high");
  return std::pair(value_[0].get<double>(), value_[1].get<double>());
}

}  // namespace claimcheck
