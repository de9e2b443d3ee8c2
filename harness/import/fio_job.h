// One job of fio, however it was printed, and what becomes of it in our metrics.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/import/collected.h"

namespace claimcheck::importing {

struct FioDirection {
  double bytes_per_second = 0;
  double iops = 0;
  double operations = 0;
  double latency_sum = 0;  // of microseconds times operations
  bool complete_latency = true;
  std::map<std::string, double> percentiles_us;  // of one job only
};

struct FioJob {
  std::string name, rw, bs, host;
  std::optional<bool> direct;
  std::optional<double> depth, jobs;
  double entries = 0;
  double error = 0;
  std::map<std::string, FioDirection> directions;  // read, write
};

// `file` is what was read or written, empty when nobody says.
void report_fio_job(Collected& collected, const FioJob& job, const std::string& file);

}  // namespace claimcheck::importing
