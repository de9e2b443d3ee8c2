// Claims and what became of them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace claimcheck {

// A promise about one metric (`metric operator value unit`), or about identity ("has 8 x H100"), with its definition.
struct Claim {
  std::string id;                 // "user:1", "platform:aws:p5.48xlarge:accelerator_count"
  std::string metric;             // metric key, or "identity.<what>" for identity claims
  std::string comparison = ">=";  // ">=", "<=", "==" ("operator" in documents)
  nlohmann::json value;           // number, or string for identity
  std::string unit;
  nlohmann::json definition =
      nlohmann::json::object();  // dense|sparse, direction, per, decimal|binary, conditions to match
  nlohmann::json source = nlohmann::json::object();  // text, url or file, date
};

enum class VerdictKind { met, not_met, inconclusive, not_measured, implausible, contradicted };

std::string_view to_string(VerdictKind kind);

struct Verdict {
  Claim claim;
  VerdictKind kind = VerdictKind::not_measured;
  nlohmann::json attained;                            // number, string or null
  std::optional<std::pair<double, double>> interval;  // 95 % interval of the attained value
  std::string reason;                                 // one sentence
  std::vector<std::string> diagnosis;                 // why it is low and what to do next, most likely first
  std::string measurement_id;                         // which measurement decided, empty when none
  nlohmann::json meaning;                             // for the buyer (harness/judge/meaning.h); null: not said
};

}  // namespace claimcheck
