#include "bench/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace claimcheck::bench {

namespace {

using Clock = std::chrono::steady_clock;

kernels::Error failed(const std::string& text) {
  return kernels::Error(
      {.outcome = kernels::Outcome::failed, .library = "Linux", .code = {}, .text = text, .remedy = {}});
}

kernels::Error not_installed(const std::string& program, const std::string& package) {
  return kernels::unsupported(fmt::format("{} is not installed", program),
                              fmt::format("install it (apt-get install {})", package.empty() ? program : package));
}

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw failed(fmt::format("cannot make a pipe: {}", strerror(errno)));
  }
  ~Pipe() {
    close(ends[0]);
    close_write_end();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write_end() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

pid_t start(const std::vector<std::string>& arguments, const Pipe& output, const Pipe& errors) {
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  pointers.reserve(copies.size() + 1);
  for (std::string& copy : copies) pointers.push_back(copy.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  pid_t child = -1;
  const int result = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (result == ENOENT) throw not_installed(arguments[0], {});
  if (result != 0) throw failed(fmt::format("cannot start {}: {}", arguments[0], strerror(result)));
  return child;
}

enum class Collected { all, late, stopped };

// Until both pipes are closed by the other side.
Collected collect(const Pipe& output, const Pipe& errors, ProgramResult& result, Clock::time_point end,
                  const std::stop_token& stop) {
  const long longest_ms = stop.stop_possible() ? 50 : 60000;
  std::array<pollfd, 2> waited = {{{output.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}}};
  std::array<std::string*, 2> texts = {&result.output, &result.errors};
  while (waited[0].fd >= 0 || waited[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return Collected::late;
    if (stop.stop_requested()) return Collected::stopped;
    if (poll(waited.data(), waited.size(), static_cast<int>(std::min<long>(left, longest_ms))) < 0 && errno != EINTR)
      throw failed(fmt::format("cannot wait for a program: {}", strerror(errno)));
    for (std::size_t i = 0; i < waited.size(); ++i) {
      if (waited[i].fd < 0 || (waited[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      std::array<char, 4096> part{};
      const ssize_t got = read(waited[i].fd, part.data(), part.size());
      if (got > 0) texts[i]->append(part.data(), static_cast<std::size_t>(got));
      if (got == 0) waited[i].fd = -1;  // poll() passes over it
    }
  }
  return Collected::all;
}

}  // namespace

void require_program(const std::string& name, const std::string& package) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access(folder.append("/").append(name).c_str(), X_OK) == 0) return;
  throw not_installed(name, package);
}

ProgramResult run_program(const std::vector<std::string>& arguments, kernels::Duration deadline,
                          const std::stop_token& stop) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline);
  Pipe output;
  Pipe errors;
  const pid_t child = start(arguments, output, errors);
  output.close_write_end();
  errors.close_write_end();
  ProgramResult result;
  const Collected collected = collect(output, errors, result, end, stop);
  if (collected != Collected::all) kill(child, SIGKILL);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (collected == Collected::late)
    throw kernels::Error({.outcome = kernels::Outcome::timed_out,
                          .library = "claimcheck",
                          .code = {},
                          .text = fmt::format("{} did not end within {:g} s", arguments[0], deadline.count()),
                          .remedy = {}});
  constexpr std::uint64_t sector_bytes = 512;  // getrusage(2) counts in these
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.device_read_bytes = static_cast<std::uint64_t>(usage.ru_inblock) * sector_bytes;
  result.device_written_bytes = static_cast<std::uint64_t>(usage.ru_oublock) * sector_bytes;
  return result;
}

}  // namespace claimcheck::bench
