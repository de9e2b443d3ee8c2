#include "harness/run/signals.h"

#include <csignal>

namespace claimcheck {
namespace {

volatile std::sig_atomic_t first_signal = 0;

void remember(int number) {
  if (first_signal == 0) first_signal = number;
}

}  // namespace

SignalGuard::SignalGuard() {
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = remember;  // no SA_RESTART: poll() shall return
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
  sigaction(SIGHUP, nullptr, &old_hang_up_);
  if (old_hang_up_.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  sigaction(SIGHUP, &old_hang_up_, nullptr);
}

int SignalGuard::caught() const { return first_signal; }

}  // namespace claimcheck
