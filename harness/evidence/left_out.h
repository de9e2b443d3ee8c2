// GPUs that are there and did not start: the worker measures the others and says so (fact `left_out`). Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

struct LeftOut {
  int index = 0;  // as the driver counts
  std::string reason;
};

// Of system.software.worker.left_out, "GPU 3: reason; GPU 5: reason".
std::vector<LeftOut> left_out_devices(const Document& document);

// "GPU 3", "GPUs 3 and 5".
std::string names_of(const std::vector<LeftOut>& devices);

// "gpu.left_out:3", one each.
std::vector<Finding> left_out_findings(const Document& document);

}  // namespace claimcheck
