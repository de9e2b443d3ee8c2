// The worker: measures the cases asked for, one event a line on stdout. Exit codes: docs/architecture.md.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/worker/agreement.h"
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

int measure(const WorkerOptions& options, kernels::Platform& platform, kernels::World& world,
            const std::vector<ListedCase>& chosen) {
  Events events(options.events && !options.silent);
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

void complain(const std::string& sentence) { std::cerr << "claimcheck-bench: " << sentence << '\n'; }

// A process that cannot go on ends at once: what it holds (a half-started MPI) could not be ended in order.
[[noreturn]] void leave(int code) {
  std::cout.flush();
  std::cerr.flush();
  _exit(code);
}

// A process can be much slower than another before both are at the same point again, as slow as one wait may take.
kernels::Duration deadline_of_world(const WorkerOptions& options) {
  return kernels::Duration(2 * options.benchmarks.deadline_seconds);
}

std::unique_ptr<kernels::World> open_world(const WorkerOptions& options) {
  try {
    return kernels::open_world(deadline_of_world(options));
  } catch (const kernels::Error& error) {
    if (kernels::first_of_its_node()) complain(error.what());
    leave(exit_no_device);
  }
}

// Null when a process found no device; the first one has said so.
std::unique_ptr<kernels::Platform> open_platform(const WorkerOptions& options, kernels::World& world) {
  std::unique_ptr<kernels::Platform> platform;
  std::optional<Failure> failure;
  try {
    kernels::PlatformOptions wanted = options.platform;
    wanted.world = &world;
    wanted.deadline = kernels::Duration(options.benchmarks.deadline_seconds);
    platform = kernels::open_platform(wanted);
  } catch (const kernels::Error&) {
    failure = current_failure();
  }
  failure = agree(world, failure);
  if (!failure) return platform;
  if (world.process() == 0) complain(failure->reason);
  return nullptr;
}

// What process 0 chose; the others learn it. Only that one finds fault with the user's words.
std::vector<ListedCase> chosen_cases(const WorkerOptions& options, kernels::Platform& platform, kernels::World& world) {
  std::vector<ListedCase> chosen;
  if (world.process() == 0) {
    try {
      const std::vector<ListedCase> cases = list_cases(platform, options.benchmarks);
      if (options.fault) choose(cases, {options.fault->id});
      chosen = choose(cases, options.only);
    } catch (...) {
      agree(world, current_failure());
      throw;
    }
  }
  return share_cases(world, chosen);
}

// Who wrote a file for each process would write the same one.
void silence(WorkerOptions& options) {
  options.silent = true;
  std::erase_if(options.google, [](const std::string& flag) { return flag.starts_with("--benchmark_out"); });
}

int run(int argc, char** argv) {
  WorkerOptions options = parse_options(argc, argv);
  if (options.help) {
    if (kernels::first_of_its_node()) std::cout << *options.help;
    return 0;
  }
  const std::unique_ptr<kernels::World> world = open_world(options);
  options.benchmarks.processes = world->processes();
  options.benchmarks.nodes = world->nodes();
  if (world->process() != 0) silence(options);
  const std::unique_ptr<kernels::Platform> platform = open_platform(options, *world);
  if (!platform) return options.silent ? 0 : exit_no_device;  // the first one's code is the launcher's
  const std::vector<ListedCase> chosen = chosen_cases(options, *platform, *world);
  if (options.describe) {
    const nlohmann::json document = describe(*platform, *world, chosen);
    if (!options.silent) std::cout << document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return 0;
  }
  return measure(options, *platform, *world, chosen);
}

}  // namespace
}  // namespace claimcheck::bench

int main(int argc, char** argv) {
  using namespace claimcheck;     // NOLINT(google-build-using-namespace): a main() of one screen
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is then an error of the write, with its reason
  try {
    return bench::run(argc, argv);
  } catch (const bench::UsageError& error) {
    if (kernels::first_of_its_node()) bench::complain(error.what());
    return bench::exit_usage;
  } catch (const kernels::PeersFailed&) {
    // Process 0 says why, and with which code: a launcher ends all when the first process leaves with another than 0.
    return 0;
  } catch (const std::exception& error) {
    bench::complain(error.what());
    bench::leave(1);
  }
}
