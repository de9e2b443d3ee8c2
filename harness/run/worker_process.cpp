#include "harness/run/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "harness/error.h"
#include "harness/run/environment.h"
#include "harness/run/process_tree.h"

namespace claimcheck {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw UserError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    read_end = ends[0];
    write_end = ends[1];
  }
};

// How long SIGKILL may take. A process in a driver's call that does not return is never ended: it is left behind.
constexpr std::chrono::seconds kill_patience{5};

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec only async-signal-safe calls are allowed; arguments and environment are made before.
[[noreturn]] void become(char* const* arguments, char* const* environment, const Pipe& out, const Pipe& err,
                         const Pipe& failure, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  dup2(out.write_end, STDOUT_FILENO);
  dup2(err.write_end, STDERR_FILENO);
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, STDIN_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
  execvpe(arguments[0], arguments, environment);
  const int code = errno;
  [[maybe_unused]] const ssize_t written = write(failure.write_end, &code, sizeof code);
  _exit(127);
}

}  // namespace

std::string describe(const ExitState& state) {
  if (state.stuck) {
    return fmt::format(
        "did not end within {} s of SIGKILL: a call into a driver does not return, and only a reboot ends it",
        kill_patience.count());
  }
  if (state.signal) {
    const char* name = sigabbrev_np(*state.signal);
    return fmt::format("was killed by signal {}{}", *state.signal, name ? fmt::format(" (SIG{})", name) : "");
  }
  return fmt::format("exited with code {}", state.code.value_or(-1));
}

WorkerProcess::WorkerProcess(const std::vector<std::string>& command) {
  const std::vector<char*> arguments = pointers_to(command);
  const std::vector<std::string> variables = worker_environment(environ);
  const std::vector<char*> environment = pointers_to(variables);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a launcher leaves behind comes to us, who know that it is to end
  not_ours_ = children_of(getpid());
  const Pipe out;
  const Pipe err;
  const Pipe failure;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw UserError(fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)));
  if (pid_ == 0) become(arguments.data(), environment.data(), out, err, failure, parent);
  setpgid(pid_, pid_);  // in both, so that the group exists whoever runs first
  for (const int end : {out.write_end, err.write_end, failure.write_end}) close(end);
  out_ = out.read_end;
  err_ = err.read_end;
  int code = 0;
  ssize_t got = 0;
  while ((got = read(failure.read_end, &code, sizeof code)) < 0 && errno == EINTR) {
  }
  close(failure.read_end);
  if (got == static_cast<ssize_t>(sizeof code)) {
    await_end(kill_patience);
    close(out_);
    close(err_);
    throw UserError(fmt::format("cannot start {}: {}", command.front(), std::strerror(code)));
  }
  for (const int end : {out_, err_}) fcntl(end, F_SETFL, O_NONBLOCK);
}

WorkerProcess::~WorkerProcess() {
  if (!ended_) {
    kill_all();
    await_end(kill_patience);
  }
  for (const int end : {out_, err_}) {
    if (end >= 0) close(end);
  }
}

void WorkerProcess::signal_group(int number) {
  if (pid_ > 0) kill(-pid_, number);
}

// Launchers give their ranks groups and sessions of their own: these are found by whose children they are. Repeated,
// since between looking and killing more may come.
void WorkerProcess::kill_all() {
  for (int round = 0; round < 8; ++round) {
    signal_group(SIGKILL);
    std::set<pid_t> left = ended_ ? std::set<pid_t>() : descendants_of(pid_);
    for (const pid_t child : children_of(getpid())) {
      if (child == pid_ || not_ours_.count(child) > 0) continue;
      const std::set<pid_t> further = descendants_of(child);
      left.insert(further.begin(), further.end());
      left.insert(child);
    }
    for (const pid_t process : left) kill(process, SIGKILL);
    for (const pid_t process : left) waitpid(process, nullptr, WNOHANG);
    if (left.empty()) return;
    poll(nullptr, 0, 5);
  }
}

std::optional<ExitState> WorkerProcess::reap() {
  if (ended_) return ended_;
  int status = 0;
  pid_t got = 0;
  while ((got = waitpid(pid_, &status, WNOHANG)) < 0 && errno == EINTR) {
  }
  if (got != pid_) return std::nullopt;
  ExitState state;
  if (WIFSIGNALED(status)) {
    state.signal = WTERMSIG(status);
  } else {
    state.code = WEXITSTATUS(status);
  }
  ended_ = state;
  return ended_;
}

void WorkerProcess::await_end(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + patience;
  while (!reap() && Clock::now() < end) poll(nullptr, 0, 2);
  if (ended_) return;
  ended_ = ExitState{};
  ended_->stuck = true;
}

// False when the other end is closed. Bounded, so that a worker that floods its output cannot keep the caller from its
// deadlines.
bool WorkerProcess::read_pipe(int& descriptor, LineReader& lines, const Sink& sink) {
  constexpr int most_reads = 16;
  std::array<char, 65536> bytes;
  for (int reads = 0; descriptor >= 0 && reads < most_reads; ++reads) {
    const ssize_t got = read(descriptor, bytes.data(), bytes.size());
    if (got > 0) {
      lines.feed({bytes.data(), static_cast<std::size_t>(got)}, sink);
      if (static_cast<std::size_t>(got) < bytes.size()) return true;
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    close(descriptor);
    descriptor = -1;
  }
  return descriptor >= 0;
}

// After the end of the process: a grandchild may still hold the pipes open, so nothing here waits for their end.
void WorkerProcess::drain(const Sink& out, const Sink& err) {
  read_pipe(out_, out_lines_, out);
  read_pipe(err_, err_lines_, err);
  out_lines_.finish(out);
  err_lines_.finish(err);
}

std::optional<ExitState> WorkerProcess::pump(std::chrono::milliseconds patience, const Sink& out, const Sink& err) {
  std::array<pollfd, 2> ends{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
  const bool silent_for_good = out_ < 0 && err_ < 0;  // it is about to end, and nothing will wake us
  poll(ends.data(), ends.size(), silent_for_good ? 2 : static_cast<int>(patience.count()));
  if (ends[0].revents != 0) read_pipe(out_, out_lines_, out);
  if (ends[1].revents != 0) read_pipe(err_, err_lines_, err);
  if (!reap()) return std::nullopt;
  kill_all();  // what it left behind
  drain(out, err);
  return ended_;
}

ExitState WorkerProcess::stop(std::chrono::milliseconds grace, const Sink& out, const Sink& err) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + grace;
  signal_group(SIGTERM);
  while (Clock::now() < end) {
    if (const std::optional<ExitState> state = pump(std::chrono::milliseconds(20), out, err)) return *state;
  }
  kill_all();
  await_end(kill_patience);
  kill_all();  // what was its child is ours now
  drain(out, err);
  return *ended_;
}

}  // namespace claimcheck
