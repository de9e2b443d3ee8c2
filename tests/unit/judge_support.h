// What the tests of judge share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/claim.h"
#include "harness/judge/judge.h"
#include "harness/judge/line.h"
#include "harness/judge/physics.h"
#include "harness/report/layout.h"
#include "tests/unit/made_results.h"

namespace claimcheck::judge_test {

using made::measured;
using made::on_cpu;
using made::six;
using made::unmeasured;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

inline Verdict verdict_on(const Document& document, const std::string& claim, const Catalog& catalog = {}) {
  return judge(document, {parse_claim(claim)}, catalog).front();
}

inline Document with(std::vector<Measurement> measurements) {
  Document document = made::cpu_machine();
  document.measurements = std::move(measurements);
  return document;
}

inline Measurement triad(const std::vector<double>& samples) {
  return on_cpu(measured("memory.triad", "memory.triad.gbps", "GB/s", samples));
}

inline const Verdict* find(const std::vector<Verdict>& verdicts, const std::string& id) {
  for (const Verdict& verdict : verdicts) {
    if (verdict.claim.id == id) return &verdict;
  }
  return nullptr;
}

}  // namespace claimcheck::judge_test
