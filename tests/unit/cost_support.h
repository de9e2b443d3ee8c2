// What the tests of cost share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cost/cost.h"
#include "harness/cost/list_price.h"
#include "harness/error.h"
#include "harness/report/layout.h"
#include "tests/unit/made_results.h"

namespace claimcheck::cost_test {

using made::measured;
using made::on_cpu;
using made::six;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

inline CostOptions on_a_day() {
  CostOptions options;
  options.today = "2026-11-30";
  return options;
}

inline Measurement scaling(int ranks, double efficiency) {
  Measurement measurement =
      measured("scaling.gemm/ranks:" + std::to_string(ranks), "scaling.gemm.efficiency", "1", six(efficiency));
  measurement.conditions["ranks"] = ranks;
  return measurement;
}

inline Document p5_measured() {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(700, 720), scaling(2, 0.97), scaling(8, 0.9)};
  return document;
}

inline json cost_of(const Document& document, const CostOptions& options, const Catalog& catalog = made::catalog()) {
  return cost_json({{"this machine", &document}}, catalog, options);
}

inline const json* row_of(const json& cost, const std::string& label, const std::string& term) {
  for (const json& row : cost["rows"]) {
    if (row["label"] == label && row["term"] == term) return &row;
  }
  return nullptr;
}

inline std::string refusal(const std::vector<PricedResult>& results, const CostOptions& options) {
  try {
    cost_json(results, made::catalog(), options);
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

}  // namespace claimcheck::cost_test
