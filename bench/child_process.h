// Runs another program without a shell and collects what it prints.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

struct ProgramResult {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string output;
  std::string errors;
  // What its system calls moved to and from block devices, past the page cache and through it.
  std::uint64_t device_read_bytes = 0;
  std::uint64_t device_written_bytes = 0;
};

// Throws unsupported, with what to install, when there is no such program in PATH. `package`: of Debian, where it is
// called otherwise.
void require_program(const std::string& name, const std::string& package = {});

// Looks arguments[0] up in PATH. Throws unsupported when there is no such program, timed_out (after killing it) past
// the deadline. When `stop` is asked for, the program is killed and its exit code is that of the signal.
ProgramResult run_program(const std::vector<std::string>& arguments, kernels::Duration deadline,
                          const std::stop_token& stop = {});

}  // namespace claimcheck::bench
