// What most importers make of one figure of a log. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "harness/result/measurement.h"

namespace claimcheck::importing {

// Measured and right; failed with `no_value` as its reason where there is no value.
inline Measurement measured(std::string id, std::string metric, std::string unit, std::optional<double> value,
                            nlohmann::json conditions, std::string no_value = "the log holds no figure") {
  Measurement made;
  made.id = std::move(id);
  made.metric = std::move(metric);
  made.unit = std::move(unit);
  made.value = value;
  made.status = value ? Outcome::ok : Outcome::failed;
  if (!value) made.reason = std::move(no_value);
  made.conditions = std::move(conditions);
  return made;
}

// A string of a JSON object; empty when it is not there or no string.
inline std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

inline std::optional<double> number_of(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

}  // namespace claimcheck::importing
