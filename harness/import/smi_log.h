// nvidia-smi -q: sections by indentation, "Key : value" lines, one block a GPU. A part of one (-d CLOCK, or cut out of
// a page) has the same lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/import/smi_gpus.h"

namespace claimcheck::importing {

class SmiLog {
 public:
  explicit SmiLog(SmiGpus& gpus) : gpus_(gpus) {}
  bool line(std::string_view text);

 private:
  bool begins(std::string_view text);
  void root(std::string_view key, std::string_view value);

  SmiGpus& gpus_;
  bool on_ = false;
  SmiGpu* gpu_ = nullptr;
  std::vector<std::pair<std::size_t, std::string>> sections_;  // with their indentation
};

}  // namespace claimcheck::importing
