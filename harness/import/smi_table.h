// The table that nvidia-smi prints without options: three lines a GPU, then MIG devices, then processes.
#pragma once

#include <string_view>

#include "harness/import/smi_gpus.h"

namespace claimcheck::importing {

class SmiTable {
 public:
  explicit SmiTable(SmiGpus& gpus) : gpus_(gpus) {}
  bool line(std::string_view text);

 private:
  enum class Part { none, gpus, mig, processes };
  bool heading(std::string_view text);
  bool gpu_line(std::string_view text);
  void first(std::string_view left, std::string_view middle, std::string_view right);
  void second(std::string_view left, std::string_view middle, std::string_view right);
  void mig(std::string_view text);

  SmiGpus& gpus_;
  Part part_ = Part::none;
  int row_ = 0;  // of the GPU at work
  SmiGpu* gpu_ = nullptr;
};

}  // namespace claimcheck::importing
