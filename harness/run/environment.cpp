#include "harness/run/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace claimcheck {
namespace {

// What a program needs to run at all, then who reads the rest.
constexpr std::array passed_on = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "PWD",
    "TMPDIR",
    "TZ",
    "LANG",
    "LC_*",
    "TERM",
    "XDG_RUNTIME_DIR",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CLAIMCHECK_*",
    // CUDA, NVML and the container toolkit; cuFile; NCCL and its plug-ins; libfabric, UCX and verbs
    "CUDA_*",
    "CUBLAS*",
    "NVIDIA_*",
    "NVSHMEM_*",
    "CUFILE_*",
    "NCCL_*",
    "OFI_NCCL_*",
    "FI_*",
    "UCX_*",
    "RDMAV_*",
    "IBV_*",
    "MLX4_*",
    "MLX5_*",
    "EFA_*",
    // processor libraries
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "OPENBLAS_*",
    "GOTO_*",
    "BLIS_*",
    "MKL_*",
    "MALLOC_*",
    "GLIBC_TUNABLES",
    // launchers, and what they need to reach other nodes
    "OMPI_*",
    "OPAL_*",
    "ORTE_*",
    "PRTE_*",
    "PRRTE_*",
    "PMIX_*",
    "PMI_*",
    "MPI_*",
    "MPIR_*",
    "MPICH_*",
    "I_MPI_*",
    "HYDRA_*",
    "MV2_*",
    "HWLOC_*",
    "SLURM_*",
    "SLURMD_*",
    "PBS_*",
    "LSB_*",
    "SGE_*",
    "FLUX_*",
    "SSH_AUTH_SOCK",
    "KUBERNETES_*",
    "KUBECONFIG",
    "PER_NODE",
    "HOSTFILE",
    "MPIRUN_OPTIONS",
    "DRY_RUN",
    "CONDA_PREFIX",
    "VIRTUAL_ENV",
    "ASAN_OPTIONS",
    "LSAN_OPTIONS",
    "TSAN_OPTIONS",
    "UBSAN_OPTIONS",
};

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return pattern.size() > 1 && name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

}  // namespace

bool is_passed_on(std::string_view name, std::string_view further) {
  if (std::any_of(passed_on.begin(), passed_on.end(), [&](const char* pattern) { return matches(name, pattern); }))
    return true;
  while (!further.empty()) {
    const std::size_t comma = further.find(',');
    if (matches(name, further.substr(0, comma))) return true;
    if (comma == std::string_view::npos) break;
    further.remove_prefix(comma + 1);
  }
  return false;
}

std::vector<std::string> worker_environment(const char* const* environment) {
  const char* const named = std::getenv(passed_on_variable);
  const std::string_view further = named == nullptr ? std::string_view() : named;
  std::vector<std::string> kept;
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    const std::size_t equals = variable.find('=');
    if (equals != std::string_view::npos && is_passed_on(variable.substr(0, equals), further))
      kept.emplace_back(variable);
  }
  return kept;
}

}  // namespace claimcheck
