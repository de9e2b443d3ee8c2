// The worker: measures the cases asked for, one event a line on stdout. Exit codes: docs/architecture.md.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/worker/case_run.h"
#include "bench/worker/describe.h"
#include "bench/worker/options.h"
#include "bench/worker/registry.h"
#include "bench/worker/reporter.h"

namespace claimcheck::bench {
namespace {

constexpr int exit_usage = 2;
constexpr int exit_no_device = 3;

void initialise_google(const std::vector<std::string>& flags) {
  // Google Benchmark keeps a pointer to the program's name until the end.
  static std::vector<std::string> copies;
  copies = flags;
  std::vector<char*> pointers;
  pointers.reserve(copies.size() + 1);
  for (std::string& copy : copies) pointers.push_back(copy.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  if (count > 1) throw UsageError(fmt::format("this version of Google Benchmark does not know {}", pointers[1]));
}

void register_case(CaseRun& run) {
  benchmark::RegisterBenchmark(run.id().c_str(), [&run](benchmark::State& state) { run.call(state); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

int measure(const WorkerOptions& options, kernels::Platform& platform, const std::vector<ListedCase>& chosen) {
  kernels::World world;
  Events events(options.events && world.process() == 0);
  Session session{platform, world, options, events};
  std::vector<std::unique_ptr<CaseRun>> cases;
  cases.reserve(chosen.size());
  for (const ListedCase& listed : chosen) cases.push_back(std::make_unique<CaseRun>(session, listed));
  for (const auto& one : cases) register_case(*one);
  initialise_google(options.google);
  events.hello(platform.kind(), is_virtual(platform));
  Reporter reporter(cases, options);
  const std::size_t matched = benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  if (matched == 0) throw UsageError("no benchmark matches --benchmark_filter; --benchmark_list_tests lists them");
  events.bye(session.measured);
  return 0;
}

void check_fault(const WorkerOptions& options, const std::vector<ListedCase>& cases) {
  if (options.fault) choose(cases, {options.fault->id});
}

int run(int argc, char** argv) {
  const WorkerOptions options = parse_options(argc, argv);
  if (options.help) {
    std::cout << *options.help;
    return 0;
  }
  std::unique_ptr<kernels::Platform> platform;
  try {
    platform = kernels::open_platform(options.platform);
  } catch (const kernels::Error& error) {
    std::cerr << "claimcheck-bench: " << error.what() << '\n';
    return exit_no_device;
  }
  const std::vector<ListedCase> cases = list_cases(*platform, options.benchmarks);
  check_fault(options, cases);
  const std::vector<ListedCase> chosen = choose(cases, options.only);
  if (options.describe) {
    std::cout << describe(*platform, chosen).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return 0;
  }
  return measure(options, *platform, chosen);
}

}  // namespace
}  // namespace claimcheck::bench

int main(int argc, char** argv) {
  try {
    return claimcheck::bench::run(argc, argv);
  } catch (const claimcheck::bench::UsageError& error) {
    std::cerr << "claimcheck-bench: " << error.what() << '\n';
    return claimcheck::bench::exit_usage;
  } catch (const std::exception& error) {
    std::cerr << "claimcheck-bench: " << error.what() << '\n';
    return 1;
  }
}
