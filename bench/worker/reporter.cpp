#include "bench/worker/reporter.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

namespace claimcheck::bench {

namespace {

// The library's choice of a reporter is public from 1.7 on only; this is the same one, without its deprecated CSV.
std::unique_ptr<benchmark::BenchmarkReporter> make_inner(const WorkerOptions& options) {
  if (options.format == "json") return std::make_unique<benchmark::JSONReporter>();
  const bool terminal = isatty(options.events ? STDERR_FILENO : STDOUT_FILENO) == 1;
  return std::make_unique<benchmark::ConsoleReporter>(terminal ? benchmark::ConsoleReporter::OO_Color
                                                               : benchmark::ConsoleReporter::OO_None);
}

}  // namespace

Reporter::Reporter(std::vector<std::unique_ptr<CaseRun>>& cases, const WorkerOptions& options)
    : cases_(cases), inner_(make_inner(options)) {
  // Google Benchmark sets no streams on a reporter it is given, and writes lists through this one.
  static std::ostream nowhere(nullptr);
  std::ostream* const error = options.silent ? &nowhere : &std::cerr;
  std::ostream* const output = options.silent || options.events ? error : &std::cout;
  SetOutputStream(output);
  SetErrorStream(error);
  inner_->SetOutputStream(output);
  inner_->SetErrorStream(error);
}

bool Reporter::ReportContext(const Context& context) { return inner_->ReportContext(context); }

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs)
    for (const std::unique_ptr<CaseRun>& one : cases_)
      if (one->id() == run.run_name.function_name && !one->finish(static_cast<int>(run.repetitions))) {
        // Whatever a dead device holds cannot be freed either; the harness goes on with another worker.
        std::fflush(nullptr);
        _exit(1);
      }
  inner_->ReportRuns(runs);
}

void Reporter::Finalize() { inner_->Finalize(); }

}  // namespace claimcheck::bench
