#include "bench/worker/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

#include "bench/worker/nearest.h"

namespace claimcheck::bench {

namespace {

const std::map<std::string, Fault::Kind> fault_kinds = {{"crash", Fault::Kind::crash},
                                                        {"hang", Fault::Kind::hang},
                                                        {"garbage", Fault::Kind::garbage},
                                                        {"wrong", Fault::Kind::wrong},
                                                        {"wrong_later", Fault::Kind::wrong_later},
                                                        {"exit", Fault::Kind::exit},
                                                        {"fail", Fault::Kind::fail},
                                                        {"fail_later", Fault::Kind::fail_later}};

// Flags of Google Benchmark 1.6 to 1.8, for "did you mean"; it checks their values itself.
const std::vector<std::string> google_flags = {"--benchmark_list_tests",
                                               "--benchmark_filter",
                                               "--benchmark_min_time",
                                               "--benchmark_min_warmup_time",
                                               "--benchmark_repetitions",
                                               "--benchmark_enable_random_interleaving",
                                               "--benchmark_report_aggregates_only",
                                               "--benchmark_display_aggregates_only",
                                               "--benchmark_format",
                                               "--benchmark_out",
                                               "--benchmark_out_format",
                                               "--benchmark_color",
                                               "--benchmark_counters_tabular",
                                               "--benchmark_context",
                                               "--benchmark_time_unit",
                                               "--benchmark_perf_counters",
                                               "--v"};

std::string flag_name(const std::string& argument) { return argument.substr(0, argument.find('=')); }

bool is_google_flag(const std::string& argument) {
  const std::string name = flag_name(argument);
  return std::find(google_flags.begin(), google_flags.end(), name) != google_flags.end();
}

Fault fault_from(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto kind = fault_kinds.find(text.substr(0, colon));
  if (kind == fault_kinds.end() || colon == std::string::npos)
    throw UsageError(fmt::format("--fault wants KIND:ID, got '{}'", text));
  Fault fault{kind->second, text.substr(colon + 1)};
  const std::size_t at = fault.id.rfind('@');
  if (at == std::string::npos) return fault;
  int process = 0;
  const char* const end = fault.id.data() + fault.id.size();
  if (const auto parsed = std::from_chars(fault.id.data() + at + 1, end, process);
      parsed.ec != std::errc{} || parsed.ptr != end)
    throw UsageError(fmt::format("--fault wants KIND:ID@PROCESS, got '{}'", text));
  fault.process = process;
  fault.id.resize(at);
  return fault;
}

void refuse_unknown(const CLI::App& app, const std::vector<std::string>& extras) {
  std::vector<std::string> known = google_flags;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) known.push_back(option->get_name());
  for (const std::string& extra : extras)
    if (!is_google_flag(extra))
      throw UsageError(
          fmt::format("unknown argument '{}'; the nearest option is {}", extra, nearest(flag_name(extra), known)));
}

// Of one repetition, from the environment; --benchmark_min_time has the last word.
void read_min_time(Options& options) {
  const char* text = std::getenv("CLAIMCHECK_MIN_TIME");
  if (text == nullptr || *text == '\0') return;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (!std::isfinite(seconds) || seconds <= 0 || *end != '\0')
    throw UsageError(fmt::format("CLAIMCHECK_MIN_TIME={}: expected seconds above 0", text));
  options.min_time_seconds = seconds;
}

// Google Benchmark keeps its flags to itself; what we need of them is read here, and our defaults are put before them.
void read_google_flags(WorkerOptions& options, const std::string& program, const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    const std::string name = flag_name(flag);
    const std::string value = flag.size() > name.size() ? flag.substr(name.size() + 1) : std::string{};
    if (name == "--benchmark_min_time") {
      // 1.8 also takes "5x", a number of iterations; that is no time.
      char* end = nullptr;
      const double seconds = std::strtod(value.c_str(), &end);
      if (std::isfinite(seconds) && seconds > 0 && (*end == '\0' || *end == 's'))
        options.benchmarks.min_time_seconds = seconds;
    } else if (name == "--benchmark_repetitions") {
      int count = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), count).ec == std::errc{} && count > 0)
        options.repetitions = options.benchmarks.repetitions = count;
    } else if (name == "--benchmark_list_tests") {
      options.list_only = value.empty() || value == "true" || value == "1" || value == "yes";
    } else if (name == "--benchmark_format") {
      options.format = value;
    }
  }
  options.google = {program, fmt::format("--benchmark_min_time={}", options.benchmarks.min_time_seconds),
                    fmt::format("--benchmark_repetitions={}", options.repetitions)};
  options.google.insert(options.google.end(), flags.begin(), flags.end());
}

}  // namespace

WorkerOptions parse_options(int argc, char** argv) {
  WorkerOptions options;
  Options& limits = options.benchmarks;
  std::string only;
  std::string fault;
  bool no_events = false;
  CLI::App app(
      "Measures this machine; one event a line on stdout (docs/architecture.md). Flags of Google Benchmark\n"
      "(--benchmark_filter, --benchmark_list_tests, --benchmark_out, ...) work as well.");
  app.allow_extras();
  app.set_help_flag("--help,-h", "Print this and exit");
  app.add_flag("--describe", options.describe, "Print devices and benchmarks as one JSON document and exit");
  app.add_option("--only", only, "Benchmarks to measure, in this order")->option_text("ID[,ID...]");
  app.add_option("--seed", limits.seed, "Seed of all random data")->option_text("N [1]");
  app.add_option("--max-bytes", limits.max_bytes, "Largest working set of one device")
      ->envname("CLAIMCHECK_MAX_BYTES")
      ->option_text("BYTES")
      ->transform(CLI::AsSizeValue(true));
  app.add_option("--max-gemm", limits.max_gemm, "Largest m, n or k of a matrix product")
      ->envname("CLAIMCHECK_MAX_GEMM")
      ->option_text("N [16384]")
      ->check(CLI::Range(std::int64_t{16}, std::int64_t{1} << 20));
  app.add_option("--file-bytes", limits.file_bytes, "Size of the files of storage benchmarks")
      ->envname("CLAIMCHECK_FILE_BYTES")
      ->option_text("BYTES")
      ->transform(CLI::AsSizeValue(true));
  app.add_option("--scratch", limits.scratch_directory, "Directory storage benchmarks write to")
      ->option_text("DIR [.]");
  app.add_option("--checkpoint-dir", limits.checkpoint_directory, "Directory checkpoints are saved to as well")
      ->option_text("DIR");
  app.add_option("--deadline", limits.deadline_seconds, "Longest wait for the device")
      ->option_text("SECONDS [60]")
      ->check(CLI::PositiveNumber);
  app.add_option("--soak-seconds", limits.soak_seconds, "How long a soak lasts")
      ->option_text("SECONDS [60]")
      ->check(CLI::Range(1.0, 30 * 86400.0));
  app.add_option("--soak-segment", limits.soak_segment_seconds, "Part of a soak that is reported by itself")
      ->option_text("SECONDS [60]")
      ->check(CLI::Range(0.5, 86400.0));
  app.add_option("--threads", options.platform.threads, "CPU cores to use, all by default")
      ->option_text("N")
      ->check(CLI::PositiveNumber);
  app.add_flag("--no-events", no_events, "No events; Google Benchmark's own output on stdout");
  app.add_option("--fault", fault)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    options.help = app.help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  const std::vector<std::string> extras = app.remaining();
  refuse_unknown(app, extras);
  read_min_time(limits);
  read_google_flags(options, argv[0], extras);
  options.events = !no_events && !options.list_only;
  if (!only.empty()) options.only = CLI::detail::split(only, ',');
  if (!fault.empty()) options.fault = fault_from(fault);
  return options;
}

}  // namespace claimcheck::bench
