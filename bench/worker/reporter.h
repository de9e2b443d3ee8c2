// Stands between Google Benchmark and its own reporter: ends a case once its repetitions are done.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "bench/worker/case_run.h"

namespace claimcheck::bench {

class Reporter : public benchmark::BenchmarkReporter {
 public:
  // `format` as --benchmark_format has it; what it prints goes to stdout only while no events do.
  Reporter(std::vector<std::unique_ptr<CaseRun>>& cases, const WorkerOptions& options);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  std::vector<std::unique_ptr<CaseRun>>& cases_;
  std::unique_ptr<benchmark::BenchmarkReporter> inner_;
};

}  // namespace claimcheck::bench
