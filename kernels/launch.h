// How this process was started: what mpirun, srun and their like leave in the environment. Pure code.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace claimcheck::kernels {

struct Launch {
  std::string launcher;          // "Open MPI", "Slurm", "PMIx", "an MPI launcher (PMI)"; empty: none
  std::optional<int> processes;  // unset: a launcher is there and does not say how many
  int process = 0;
  std::optional<int> local_process;
  bool connected = true;  // false: the launcher offers nothing through which MPI could find the others

  // Whether there are, or may be, other processes to connect to.
  bool several() const { return !launcher.empty() && processes.value_or(2) > 1; }
};

using Environment = std::function<const char*(const char* name)>;  // as std::getenv

Launch read_launch(const Environment& environment);

}  // namespace claimcheck::kernels
