// Lines of progress of gpu-burn: "50.0%  proc'd: 81 (47174 Gflop/s) - 0 (0 Gflop/s)   errors: 0 - 0   temps: 50 C - 45
// C". Its text is rewritten with carriage returns, so several may stand in one line.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace claimcheck::importing {

struct BurnGpu {
  std::optional<double> gflops;  // unset: nothing yet
  double most_gflops = 0;        // of the whole run
  double errors = 0;
  bool died = false;
  std::optional<double> celsius;
};

struct BurnProgress {
  std::vector<BurnGpu> gpus;
  double percent = 0;
  int snapshots = 0;
};

// False when the line has no progress; a half written snapshot counts as far as it goes.
bool read_burn_progress(std::string_view line, BurnProgress& progress);

}  // namespace claimcheck::importing
