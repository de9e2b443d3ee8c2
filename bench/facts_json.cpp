#include "bench/facts_json.h"

#include <cmath>
#include <type_traits>

namespace claimcheck::bench {

nlohmann::json to_json(const kernels::Fact& fact) {
  return std::visit(
      [](const auto& value) -> nlohmann::json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Value, double>) {
          // JSON has no NaN; a sensor that gives one knows nothing.
          return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
        } else {
          return value;
        }
      },
      fact);
}

nlohmann::json to_json(const kernels::Facts& facts) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, fact] : facts) object[name] = to_json(fact);
  return object;
}

kernels::Fact fact_of(const kernels::Facts& facts, std::string_view name) {
  for (const auto& [key, fact] : facts)
    if (key == name) return fact;
  return {};
}

}  // namespace claimcheck::bench
