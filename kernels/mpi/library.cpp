#include "kernels/mpi/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "kernels/error.h"

namespace claimcheck::kernels {

namespace {

constexpr const char* file_name = "libclaimcheck_mpi.so";

[[noreturn]] void refuse(const Launch& launch, const std::string& why, const std::string& remedy) {
  throw Error({.outcome = Outcome::failed,
               .library = "MPI",
               .code = {},
               .text = fmt::format("{}, and {}", describe(launch), why),
               .remedy = remedy});
}

}  // namespace

std::string describe(const Launch& launch) {
  if (!launch.processes) return fmt::format("this process was started by {}", launch.launcher);
  return fmt::format("{} processes were started by {}", *launch.processes, launch.launcher);
}

const ClaimcheckMpi& load_mpi(const Launch& launch) {
  std::error_code ignored;
  const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  // Beside the worker as built; installed, the worker is in bin/ or in libexec/claimcheck/.
  std::filesystem::path path = beside / file_name;
  for (const std::filesystem::path& prefix : {beside.parent_path(), beside.parent_path().parent_path()})
    if (!std::filesystem::exists(path, ignored)) path = prefix / "lib/claimcheck" / file_name;
  if (!std::filesystem::exists(path, ignored))
    refuse(launch, fmt::format("this worker has no MPI: {} is not in {}", file_name, beside.string()),
           "build it where Open MPI's headers are (Debian: libopenmpi-dev), or start one process without a launcher");
  // Global: Open MPI loads its components, and those of old versions look for its symbols there.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const text = dlerror();
    refuse(launch, fmt::format("MPI cannot be loaded: {}", text == nullptr ? "unknown reason" : text),
           "install the same MPI on every node (Debian: openmpi-bin), or start one process without a launcher");
  }
  using Entry = const ClaimcheckMpi* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, CLAIMCHECK_MPI_SYMBOL));
  if (entry == nullptr)
    refuse(launch, fmt::format("{} is of another version of claimcheck", path.string()),
           "build worker and library together");
  return *entry();
}

}  // namespace claimcheck::kernels
