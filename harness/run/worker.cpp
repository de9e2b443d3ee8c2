#include "harness/run/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "harness/error.h"
#include "harness/result/json_text.h"
#include "harness/run/worker_process.h"

namespace claimcheck {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t describe_most_bytes = 16u << 20;
constexpr int exit_no_device = 3;

std::filesystem::path program_path(const std::string& kind) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / ("claimcheck-bench-" + kind);
}

struct Answer {
  ExitState state;
  bool timed_out = false;
  std::string out;
  std::string err;  // what the worker said on stderr, else the first line
};

Answer ask(const std::vector<std::string>& command, double patience_seconds) {
  Answer answer;
  const auto out = [&](std::string_view line) {
    if (answer.out.size() + line.size() < describe_most_bytes) answer.out.append(line).append("\n");
  };
  // The worker's own sentence: what it calls itself tells a user nothing. Launchers say more around it.
  bool said = false;
  const auto err = [&](std::string_view line) {
    if (line.find_first_not_of("- ") == std::string_view::npos) return;
    const bool says = line.starts_with(worker_mark);
    if (answer.err.empty() || (says && !said)) answer.err = says ? line.substr(worker_mark.size()) : line;
    said = said || says;
  };
  WorkerProcess process(command);
  const Clock::time_point end =
      Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(1000 * patience_seconds));
  while (Clock::now() < end) {
    if (const auto state = process.pump(std::chrono::milliseconds(50), out, err)) {
      answer.state = *state;
      return answer;
    }
  }
  answer.timed_out = true;
  answer.state = process.stop(std::chrono::milliseconds(500), out, err);
  return answer;
}

// `command` is the worker with its launcher and options: what can be measured depends on how many processes there are.
nlohmann::json describe_worker(std::vector<std::string> command, const std::string& program, double patience_seconds) {
  command.push_back("--describe");
  const Answer answer = ask(command, patience_seconds);
  if (answer.timed_out) {
    throw UserError(fmt::format("{} --describe gave no answer within {:.3g} s{}; the device's driver may hang: see "
                                "`dmesg`, reboot, or return the machine",
                                program, patience_seconds, answer.state.stuck ? " and " + describe(answer.state) : ""),
                    ExitCode::no_device);
  }
  if (answer.state.code == exit_no_device) throw UserError(answer.err, ExitCode::no_device);
  if (answer.state.code == static_cast<int>(ExitCode::usage)) throw UserError(answer.err);
  if (!answer.state.clean()) {
    throw UserError(fmt::format("{} --describe {}{}{}", program, describe(answer.state), answer.err.empty() ? "" : ": ",
                                answer.err),
                    ExitCode::no_device);
  }
  try {
    nlohmann::json description = parse_json(answer.out, "its answer");
    if (description.is_object()) return description;
    throw UserError("its answer is not a JSON object");
  } catch (const UserError& error) {
    throw UserError(fmt::format("{} --describe did not print a JSON document: {}", program, error.what()),
                    ExitCode::no_device);
  }
}

std::vector<std::string> command_of(const std::vector<std::string>& launcher, const std::string& program,
                                    const std::vector<std::string>& options) {
  std::vector<std::string> command = launcher;
  command.push_back(program);
  command.insert(command.end(), options.begin(), options.end());
  return command;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text, std::string_view option) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) throw UserError(fmt::format("{} {}: the quote {} is not closed", option, text, quote));
  if (in_word) words.push_back(word);
  return words;
}

Worker choose_worker(const WorkerRequest& request) {
  if (request.device != "auto" && request.device != "cuda" && request.device != "host") {
    throw UserError(fmt::format("--device {}: expected auto, cuda or host", request.device));
  }
  Worker worker;
  const std::vector<std::string> launcher = split_words(request.launcher, "--launcher");
  const auto take = [&](const std::string& program) {
    worker.program = program;
    worker.command = command_of(launcher, program, request.options);
    worker.description = describe_worker(worker.command, program, request.patience_seconds);
  };
  if (!request.program.empty()) {
    if (!std::filesystem::exists(request.program)) {
      throw UserError(fmt::format("--worker {}: no such file", request.program));
    }
    take(request.program);
    worker.why = "named by --worker";
  } else {
    const bool cuda_built = std::filesystem::exists(program_path("cuda"));
    if (request.device == "cuda" && !cuda_built) {
      throw UserError(
          "--device cuda: this build has no CUDA worker (claimcheck-bench-cuda); build it on a machine with "
          "a CUDA toolkit, or use --device host",
          ExitCode::no_device);
    }
    if (request.device == "auto" && !cuda_built) worker.why = "this build has no CUDA worker";
    try {
      take(program_path(request.device == "host" || !cuda_built ? "host" : "cuda"));
    } catch (const UserError& error) {
      if (request.device != "auto" || !cuda_built || error.code() != ExitCode::no_device) throw;
      worker.why = error.what();
      take(program_path("host"));
    }
  }
  const auto kind = worker.description.find("worker");
  worker.kind = kind != worker.description.end() && kind->is_string() ? kind->get<std::string>() : "unknown";
  return worker;
}

nlohmann::json describe_again(const Worker& worker, double patience_seconds) {
  return describe_worker(worker.command, worker.program, patience_seconds);
}

}  // namespace claimcheck
