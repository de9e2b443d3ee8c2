// SIGINT, SIGTERM and SIGHUP (Ctrl-C, spot reclaim, a session that is cut off) end a run early with a valid partial
// result: the handler only remembers.
#pragma once

#include <signal.h>

namespace claimcheck {

// Catches them while it lives, less a SIGHUP that was ignored before (nohup); waits in system calls return early.
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
  struct sigaction old_hang_up_ {};
};

}  // namespace claimcheck
