// Errors that end a command, with the exit code the user gets. The text is one sentence: what, where, what was
// expected.
#pragma once

#include <stdexcept>
#include <string>

namespace claimcheck {

// The same for every command (docs/exit-codes in the README).
enum class ExitCode : int {
  ok = 0,          // everything asked for holds
  not_met = 1,     // a claim or a regression limit is not met
  usage = 2,       // bad usage or bad input
  no_device = 3,   // no usable device
  incomplete = 4,  // something asked for was not measured, or the answer is inconclusive
};

class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& text, ExitCode code = ExitCode::usage)
      : std::runtime_error(text), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

}  // namespace claimcheck
