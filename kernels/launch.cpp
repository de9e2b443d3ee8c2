#include "kernels/launch.h"

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

namespace claimcheck::kernels {

namespace {

std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  int value = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), value).ec != std::errc{} || value < 0)
    return std::nullopt;
  return value;
}

// What one kind of launcher calls them. Without `processes` it does not say how many there are.
struct Names {
  const char* launcher;
  const char* processes;
  const char* process;
  const char* local_process;
};

constexpr std::string_view slurm = "Slurm";

// Slurm's step first: srun also sets what its PMI plug-in wants. SLURM_NTASKS alone stands in batch scripts too, which
// are one process; only a step has SLURM_STEP_NUM_TASKS. MPICH and Intel MPI set the names of PMI.
constexpr std::array<Names, 4> known = {
    {{"Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
     {slurm.data(), "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"},
     {"an MPI launcher", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID"},
     {"PMIx", nullptr, "PMIX_RANK", nullptr}}};

}  // namespace

Launch read_launch(const Environment& environment) {
  for (const Names& names : known) {
    const std::optional<int> process = number(environment, names.process);
    if (!process) continue;
    Launch launch;
    launch.launcher = names.launcher;
    launch.process = *process;
    if (names.processes != nullptr) {
      launch.processes = number(environment, names.processes);
      if (!launch.processes) continue;
    }
    if (names.local_process != nullptr) launch.local_process = number(environment, names.local_process);
    // srun --mpi=none starts processes that know nothing of each other; Open MPI ends such a process without ado.
    if (launch.launcher == slurm)
      launch.connected = number(environment, "PMIX_RANK") || number(environment, "PMI_RANK");
    return launch;
  }
  return {};
}

}  // namespace claimcheck::kernels
