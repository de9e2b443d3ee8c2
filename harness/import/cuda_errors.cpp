#include "harness/import/cuda_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "harness/import/fields.h"

namespace claimcheck::importing {
namespace {

struct CudaError {
  int code;
  std::array<std::string_view, 3> words;  // any of them
  std::string_view cause;
  std::string_view next_step;
};
// Codes and texts: CUDA Runtime API, cudaError_t.
constexpr std::array<CudaError, 13> errors = {{
    {802,
     {"system not yet initialized", "SystemNotReady", "SYSTEM_NOT_READY"},
     "the machine has NVSwitches, and the Fabric Manager does not run or is not ready",
     "systemctl enable --now nvidia-fabricmanager, of the driver's own version; on a rented machine ask the provider, "
     "or launch another one"},
    {803,
     {"unsupported display driver / cuda driver combination", "SystemDriverMismatch", "SYSTEM_DRIVER_MISMATCH"},
     "the kernel's driver and libcuda are of different versions: an update without a reboot, or two libcuda in the way",
     "take a cuda-compat folder off LD_LIBRARY_PATH, or reboot after an update of the driver; ldconfig -p | grep "
     "libcuda "
     "shows a second one; /proc/driver/nvidia/version is the kernel's"},
    {804,
     {"forward compatibility was attempted on non supported HW", "CompatNotSupportedOnDevice",
      "COMPAT_NOT_SUPPORTED_ON_DEVICE"},
     "libraries of CUDA's forward compatibility are in the way on a card that has none",
     "take cuda-compat off the library path, or update the driver"},
    {100,
     {"no CUDA-capable device is detected", "NoDevice", "NO_DEVICE"},
     "no GPU is visible to the program",
     "nvidia-smi; CUDA_VISIBLE_DEVICES; in a container start it with the GPUs; a machine without its GPU is not what "
     "was sold"},
    {35,
     {"CUDA driver version is insufficient", "InsufficientDriver", "INSUFFICIENT_DRIVER"},
     "the driver is older than the program's CUDA",
     "update the driver, or take a program built with an older CUDA"},
    {999,
     {"unknown error", "ErrorUnknown", "CUDA_ERROR_UNKNOWN"},
     "the driver could not start the device, most often in a container or a virtual machine that lacks a device file "
     "or right",
     "nvidia-smi; look into dmesg for NVRM and Xid; reload nvidia_uvm or reboot"},
    {46,
     {"all CUDA-capable devices are busy or unavailable", "DevicesUnavailable", "devices are busy"},
     "another process holds the GPU in exclusive mode, or it is in a bad state",
     "nvidia-smi shows processes and compute mode; stop the others or reboot"},
    {2,
     {"out of memory", "MemoryAllocation", "OUT_OF_MEMORY"},
     "the GPU's memory is in use, by this program or by somebody else's",
     "nvidia-smi shows who; on a rented machine nobody else should be there"},
    {214,
     {"uncorrectable ECC error", "ECCUncorrectable", "ECC_UNCORRECTABLE"},
     "memory of the GPU is broken",
     "nvidia-smi -q -d ECC,ROW_REMAPPER; return the machine"},
    {700,
     {"an illegal memory access", "IllegalAddress", "ILLEGAL_ADDRESS"},
     "the program read or wrote where it may not, or the memory is broken",
     "run it on another GPU of the machine: if it fails on one only, that one is broken"},
    {719,
     {"unspecified launch failure", "LaunchFailure", "LAUNCH_FAILED"},
     "a kernel ended without a reason that the driver can name",
     "look into dmesg for Xid; run it on another GPU of the machine"},
    {217,
     {"peer access is not supported", "PeerAccessUnsupported", "PEER_ACCESS_UNSUPPORTED"},
     "two GPUs do not reach each other's memory",
     "nvidia-smi topo -p2p r; IOMMU, ACS or the virtual machine is in the way"},
    {304,
     {"OS call failed", "OperatingSystem", "OPERATING_SYSTEM"},
     "the operating system refused the driver a call",
     "look at limits (ulimit -l), /dev/shm and the rights on /dev/nvidia*"},
}};

bool says(std::string_view text, const CudaError& error) {
  if (std::any_of(error.words.begin(), error.words.end(), [&](std::string_view word) { return contains(text, word); }))
    return true;
  // The number as a word of its own: "error 802", "(802)".
  const std::string code = std::to_string(error.code);
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const bool names_it = contains(text, "rror") || contains(text, "(") || contains(text, "code");
  for (std::size_t at = text.find(code); names_it && code.size() == 3 && at != std::string_view::npos;
       at = text.find(code, at + 1)) {
    const bool before = at > 0 && (digit(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == ':');
    const bool behind =
        at + code.size() < text.size() && (digit(text[at + code.size()]) || text[at + code.size()] == '.');
    if (!before && !behind) return true;
  }
  return false;
}

}  // namespace

Finding cuda_error_finding(std::string_view text) {
  const std::string said(trimmed(text).substr(0, 200));
  for (const CudaError& error : errors) {
    if (!says(text, error)) continue;
    return {fmt::format("cuda.{}", error.code),
            "error",
            fmt::format("CUDA error {} (\"{}\"): {}.", error.code, said, error.cause),
            std::string(error.next_step) + ".",
            {{"code", error.code}}};
  }
  return {"cuda.error",
          "error",
          fmt::format("CUDA failed: \"{}\".", said),
          "Look into dmesg for NVRM and Xid lines of that time.",
          {}};
}

}  // namespace claimcheck::importing
