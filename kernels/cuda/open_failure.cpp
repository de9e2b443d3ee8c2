#include "kernels/cuda/open_failure.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <fstream>
#include <iterator>

namespace claimcheck::kernels::cuda {

namespace fs = std::filesystem;

namespace {

// cudaError_t, by number so that this file needs no CUDA header.
enum Code {
  initialization_error = 3,
  stub_library = 34,
  insufficient_driver = 35,
  devices_unavailable = 46,
  no_device = 100,
  operating_system = 304,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  compat_not_supported = 804,
  unknown = 999
};

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

int count_gpus(const fs::path& devices) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(devices, ignored)) {
    const bool nvidia = read(entry.path() / "vendor").rfind("0x10de", 0) == 0;
    // 0x0300 VGA controller, 0x0302 3D controller; others are sound and bridges of the same card.
    if (nvidia && read(entry.path() / "class").rfind("0x03", 0) == 0) ++count;
  }
  return count;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat ..." or, open modules, "... Kernel Module for x86_64
// 580.65.06  Release Build ...": the first word that starts with a digit and has a dot.
std::string module_version(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    const std::string word = line.substr(at, end - at);
    const bool number = word.find_first_not_of("0123456789.") == std::string::npos;
    if ((number && word.find('.') != std::string::npos) || word.rfind("virtual-", 0) == 0) return word;
    at = end;
  }
  return line.empty() ? "" : "of unknown version";
}

bool in_container(const fs::path& root) {
  std::error_code ignored;
  if (fs::exists(root / ".dockerenv", ignored) || fs::exists(root / "run/.containerenv", ignored)) return true;
  const std::string groups = read(root / "proc/1/cgroup");
  for (const char* word : {"docker", "kubepods", "containerd", "libpod", "lxc"})
    if (groups.find(word) != std::string::npos) return true;
  return false;
}

// The driver library is opened by the CUDA runtime; a copy in a container's "compat" folder shows by its path.
std::string libcuda_file() {
  void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return "";
  link_map* map = nullptr;
  std::string file;
  std::error_code ignored;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) file = fs::weakly_canonical(map->l_name, ignored).string();
  dlclose(handle);
  return file;
}

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

// The first driver branch of a CUDA major version: NVIDIA, "CUDA Compatibility", table of minimum versions.
std::string_view driver_branch(int runtime) { return runtime >= 13000 ? "580" : runtime >= 12000 ? "525" : "450"; }

struct Words {
  std::string text;
  std::string remedy;
};

Words without_gpu() {
  return {"this machine has no NVIDIA GPU",
          "choose an instance type that has one, or measure the CPU with --device host"};
}

std::string gpus(int count) { return count == 1 ? "an NVIDIA GPU" : fmt::format("{} NVIDIA GPUs", count); }

Words without_driver(const SystemView& system) {
  if (system.gpus == 0 && system.kernel_driver.empty()) return without_gpu();
  if (system.container && (system.kernel_driver.empty() || !system.device_files || system.libcuda.empty()))
    return {"this container was started without GPUs",
            "start it with --gpus all (Docker with the NVIDIA container toolkit, on a host where nvidia-smi works), or "
            "ask Kubernetes for nvidia.com/gpu"};
  if (system.kernel_driver.empty())
    return {fmt::format("this machine has {} and its driver is not loaded", gpus(system.gpus)),
            "install the NVIDIA driver, or load it with: sudo modprobe nvidia"};
  return {fmt::format("the NVIDIA kernel driver {} is loaded and its library libcuda.so.1 is not installed",
                      system.kernel_driver),
          "install the user-space part of the same driver version (Ubuntu: libnvidia-compute)"};
}

Words too_old(const OpenFailure& failure, const SystemView& system) {
  const std::string driver = system.kernel_driver.empty() ? "" : " " + system.kernel_driver;
  return {fmt::format("the NVIDIA driver{} supports CUDA {} and this worker needs {}", driver,
                      version(failure.driver_api), version(failure.runtime)),
          fmt::format("install driver {} or newer, or use a worker built with CUDA {}", driver_branch(failure.runtime),
                      failure.driver_api / 1000)};
}

Words hidden(const OpenFailure& failure) {
  const int count = failure.nvml_devices;
  const std::string there =
      count > 0 ? fmt::format(", and this machine has {} GPU{}", count, count == 1 ? "" : "s") : "";
  const std::string indices = count > 1    ? fmt::format("an index from 0 to {}", count - 1)
                              : count == 1 ? std::string("the index 0")
                                           : std::string("an index");
  return {fmt::format("CUDA_VISIBLE_DEVICES is \"{}\", which names no GPU{}", *failure.visible, there),
          fmt::format("unset it, or give {}, a UUID (GPU-..., or its unique beginning) or a MIG instance (MIG-...), as "
                      "nvidia-smi -L lists them",
                      indices)};
}

Words no_devices(const OpenFailure& failure, const SystemView& system) {
  if (failure.visible) return hidden(failure);
  if (failure.nvml_devices > 0)
    return {fmt::format("the driver knows {} and CUDA may use none of them", gpus(failure.nvml_devices)),
            "look whether MIG is on without instances (nvidia-smi mig -lgi) or the compute mode is \"prohibited\" "
            "(nvidia-smi -q -d COMPUTE)"};
  if (system.container && !system.device_files) return without_driver(system);
  if (system.gpus == 0 && system.kernel_driver.empty()) return without_gpu();
  return {"the NVIDIA driver answers and sees no GPU",
          "check that the instance type has one (lspci -d 10de:) and why the driver rejects it (dmesg | grep -i nvrm)"};
}

Words mismatch(const SystemView& system) {
  const std::string kernel = system.kernel_driver.empty() ? "" : " " + system.kernel_driver;
  if (system.libcuda.find("compat") != std::string::npos)
    return {fmt::format("the driver library {} does not fit the kernel driver{}", system.libcuda, kernel),
            "remove its folder from LD_LIBRARY_PATH, so that the host's own library is used"};
  const std::string library = system.libcuda.empty() ? "" : " " + system.libcuda;
  return {fmt::format("the driver library{} is of another version than the loaded kernel driver{}", library, kernel),
          "reboot, or reload the driver, after a driver update"};
}

Words words_for(const OpenFailure& failure, const SystemView& system) {
  switch (failure.code) {
    case insufficient_driver:
    case stub_library:
      if (failure.driver_api > 0 && failure.driver_api < failure.runtime) return too_old(failure, system);
      return without_driver(system);
    case 0:
    case no_device:
      return no_devices(failure, system);
    case system_not_ready:
      return {"the GPUs of this machine are joined by NVSwitch, and the fabric manager that sets it up does not run",
              "start it with: sudo systemctl start nvidia-fabricmanager; its version must be that of the driver"};
    case system_driver_mismatch:
      return mismatch(system);
    case compat_not_supported:
      return {"CUDA's forward compatibility package is in use and does not support this GPU",
              "remove the compat folder of CUDA from LD_LIBRARY_PATH, or install a driver of the toolkit's version"};
    case operating_system:
      return {"the operating system does not let this process use the GPU's device files",
              "add the user to the group of /dev/nvidia* (often video or render), or run as root"};
    case devices_unavailable:
      return {"every GPU is in use exclusively by another process, or prohibited for computing",
              "end the other process, or set the compute mode with: sudo nvidia-smi -c DEFAULT"};
    case initialization_error:
    case unknown:
      return {"the NVIDIA driver does not start a GPU",
              "look for the reason with: dmesg | grep -iE 'nvrm|xid'; reboot, or return the machine if it stays"};
    default:
      return {fmt::format("CUDA cannot list the GPUs: {}", failure.text),
              "see whether nvidia-smi works and what dmesg says of NVRM"};
  }
}

}  // namespace

SystemView read_system(const fs::path& root) {
  std::error_code ignored;
  return {.gpus = count_gpus(root / "sys/bus/pci/devices"),
          .kernel_driver = module_version(read(root / "proc/driver/nvidia/version")),
          .device_files = fs::exists(root / "dev/nvidiactl", ignored),
          .container = in_container(root),
          .libcuda = libcuda_file()};
}

Error::Detail explain(const OpenFailure& failure, const SystemView& system) {
  Words words = words_for(failure, system);
  return {.outcome = Outcome::failed,
          .library = "CUDA",
          .code = failure.name,
          .text = std::move(words.text),
          .remedy = std::move(words.remedy)};
}

}  // namespace claimcheck::kernels::cuda
