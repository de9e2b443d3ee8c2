// SIGINT and SIGTERM (Ctrl-C, spot reclaim) end a run early with a valid partial result: the handler only remembers.
#pragma once

#include <signal.h>

namespace claimcheck {

// Catches both signals while it lives; waits in system calls return early.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  int caught() const;  // the first signal caught, 0: none

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

}  // namespace claimcheck
