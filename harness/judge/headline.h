// Which measurement speaks for a metric, and why there is none.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/result/document.h"

namespace claimcheck {

using Accepts = std::function<bool(const Measurement&)>;

// Conditions of the measurement by name: conditions[name], conditions.shape[name], or `name:value` in its id
// ("gemm.fp32/n:4096"). Null when unknown.
nlohmann::json condition_of(const Measurement& measurement, const std::string& name);

// Numbers as numbers, everything else as text without regard to case.
bool same_condition(const nlohmann::json& wanted, const nlohmann::json& found);

bool meets(const Measurement& measurement, const nlohmann::json& conditions);

// On random data, for real: not zeros, not an estimate, not virtual in a document that is not.
bool counts(const Document& document, const Measurement& measurement);

// Why a figure of small sizes says little about the machine (--max-bytes, --max-gemm, memory in use), in a few words;
// empty when the sizes were those of the method. Catalog figures are no yardstick for it; a user's claim is judged with
// these words.
std::string limited_by_size(const Measurement& measurement);

// As headline() of judge.h, among those `accepts` lets through.
const Measurement* headline_where(const Document& document, std::string_view metric, const nlohmann::json& conditions,
                                  const Accepts& accepts);

// One sentence: why no measurement speaks for `metric` under `conditions`.
std::string why_not_measured(const Document& document, std::string_view metric, const nlohmann::json& conditions,
                             const Accepts& accepts);

}  // namespace claimcheck
