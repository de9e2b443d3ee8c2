#include "tests/virtual_platform/engine/spec_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace virtual_platform {
namespace {

// Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); i++) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); j++) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0U : 1U);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

Fields::Fields(const nlohmann::json& object, std::string pointer) : object_(object), pointer_(std::move(pointer)) {
  if (!object.is_object())
    throw std::runtime_error(
        fmt::format("{}: expected an object, found {}", pointer_.empty() ? "/" : pointer_, object.type_name()));
}

const nlohmann::json* Fields::find(const char* key) {
  known_.emplace_back(key);
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

void Fields::finish() const {
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string_view wanted = key;
    const auto nearest = std::min_element(known_.begin(), known_.end(), [&](std::string_view a, std::string_view b) {
      return distance(a, wanted) < distance(b, wanted);
    });
    throw std::runtime_error(fmt::format("{}/{}: unknown key{}", pointer_, key,
                                         nearest == known_.end() ? "" : fmt::format("; did you mean {}?", *nearest)));
  }
}

void Fields::wrong_type(const char* key, const nlohmann::json& value) const {
  throw std::runtime_error(
      fmt::format("{}/{}: a value of another type was expected, found {}", pointer_, key, value.dump().substr(0, 60)));
}

}  // namespace virtual_platform
