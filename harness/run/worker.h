// Which worker measures here, and what it can measure: the CUDA worker where it is built and finds a device, the host
// worker otherwise, with the reason.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

// Before a worker's own sentences on stderr; launchers say more around them.
inline constexpr std::string_view worker_mark = "claimcheck-bench: ";

struct WorkerRequest {
  std::string device = "auto";       // auto, cuda, host
  std::string program;               // --worker PATH; empty: beside this executable
  std::string launcher;              // "mpirun -np 16", split into words without a shell
  std::vector<std::string> options;  // sizes, threads: part of the description too, as they decide the cases
  double patience_seconds = 60;      // with --describe
};

struct Worker {
  std::vector<std::string> command;  // launcher, program and options
  std::string program;
  std::string kind;            // "host", "cuda"
  std::string why;             // why this kind, in words; empty when it was asked for
  nlohmann::json description;  // --describe
};

// Throws UserError: exit 2 for a bad request, exit 3 with the worker's own sentence when no device is usable.
Worker choose_worker(const WorkerRequest& request);

// What that worker says now. Throws UserError as choose_worker does.
nlohmann::json describe_again(const Worker& worker, double patience_seconds);

// Words of a command line with '...' and "..." quoting; nothing is expanded. Throws UserError on an open quote.
std::vector<std::string> split_words(std::string_view text, std::string_view option);

}  // namespace claimcheck
