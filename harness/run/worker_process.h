// One worker process (or a launcher with its workers): started without a shell, in a process group of its own, with an
// environment by allow list, its output read line by line, killed with its group and all that descends from it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run/event.h"

namespace claimcheck {

struct ExitState {
  std::optional<int> code;
  std::optional<int> signal;
  bool stuck = false;  // even SIGKILL did not end it in time: a call into a driver that does not return
  bool clean() const { return code == 0; }
};

// "was killed by signal 11 (SIGSEGV)", "exited with code 3".
std::string describe(const ExitState& state);

class WorkerProcess {
 public:
  using Sink = std::function<void(std::string_view line)>;

  // Throws UserError when the program cannot be started. The worker is killed by the kernel when this process dies.
  explicit WorkerProcess(const std::vector<std::string>& command);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Reads what is there, waiting at most `patience` for the first byte; returns early when a signal arrives.
  // Unset while the process lives; its exit state once it ended and all its output was handed on.
  std::optional<ExitState> pump(std::chrono::milliseconds patience, const Sink& out, const Sink& err);

  // SIGTERM to the group, SIGKILL to all that is left after `grace`; reaps, for a few seconds at most. Output meanwhile
  // is handed on.
  ExitState stop(std::chrono::milliseconds grace, const Sink& out, const Sink& err);

 private:
  bool read_pipe(int& descriptor, LineReader& lines, const Sink& sink);
  void drain(const Sink& out, const Sink& err);
  std::optional<ExitState> reap();
  void await_end(std::chrono::milliseconds patience);
  void signal_group(int number);
  void kill_all();

  pid_t pid_ = -1;
  std::set<pid_t> not_ours_;  // children this process had before
  int out_ = -1;
  int err_ = -1;
  LineReader out_lines_;
  LineReader err_lines_;
  std::optional<ExitState> ended_;
};

}  // namespace claimcheck
