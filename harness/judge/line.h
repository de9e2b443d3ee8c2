// A measured value with its interval against a line. Pure arithmetic, shared by claims and typical values.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "harness/result/measurement.h"
#include "harness/result/verdict.h"

namespace claimcheck {

struct Reading {
  double value = 0;
  std::optional<std::pair<double, double>> interval;  // 95 % of the median; the range of the samples when too few
  bool few_samples = false;                           // the interval is the range
};

// Of a usable measurement; `scale` multiplies everything (8 for a node of 8 devices).
Reading reading_of(const Measurement& measurement, double scale = 1);

struct Line {
  std::string comparison = ">=";  // ">=", "<=" or "=="
  bool strictly = false;          // > and <
  double value = 0;
  double tolerance = 0;  // of "==": relative, both ways
};

// met, not_met, or inconclusive when the interval straddles the line.
VerdictKind decide(const Line& line, const Reading& reading);

}  // namespace claimcheck
