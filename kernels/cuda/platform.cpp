// The CUDA platform: each GPU that CUDA shows and that does work, as device and as rank.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "kernels/cuda/device.h"
#include "kernels/cuda/error.h"
#include "kernels/cuda/nccl_output.h"
#include "kernels/cuda/open_failure.h"
#include "kernels/cuda/platform_facts.h"
#include "kernels/cuda/stream.h"
#include "kernels/node_share.h"

namespace claimcheck::kernels {

namespace cuda {
namespace {

// How many GPUs CUDA shows, or the Error that explains why none.
int count_devices(const NvmlOpened& nvml) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  OpenFailure failure;
  failure.code = static_cast<int>(status);
  failure.name = cudaGetErrorName(status == cudaSuccess ? cudaErrorNoDevice : status);
  failure.text = cudaGetErrorString(status);
  ignore(cudaDriverGetVersion(&failure.driver_api));
  ignore(cudaRuntimeGetVersion(&failure.runtime));
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) failure.visible = visible;
  failure.nvml_devices = nvml.nvml ? nvml.nvml->device_count() : -1;
  failure.nvml_reason = nvml.reason;
  throw Error(explain(failure, read_system()));
}

std::string plain_uuid(const cudaUUID_t& uuid) {
  std::string text;
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// The UUIDs of what CUDA shows this process; never throws, since other processes wait for them.
std::vector<std::string> visible_uuids(Nvml* nvml) {
  std::vector<std::string> uuids;
  int count = 0;
  ignore(cudaGetDeviceCount(&count));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    const cudaError_t status = cudaGetDeviceProperties(&properties, ordinal);
    ignore(status);
    if (status != cudaSuccess) continue;
    const std::string uuid = plain_uuid(properties.uuid);
    const NvmlDevice* known = nvml == nullptr ? nullptr : nvml->find(uuid, "");
    uuids.push_back(known == nullptr || known->uuid().empty() ? uuid : known->uuid());
  }
  return uuids;
}

// Which of the visible GPUs are this process's: first and count.
std::pair<int, int> own_share(World* world, Nvml* nvml, const std::function<int()>& count_visible) {
  const Sight sight = world == nullptr ? Sight::alone : compare_sights(*world, visible_uuids(nvml));
  const int count = count_visible();
  if (sight == Sight::alone || sight == Sight::apart) return {0, count};
  const int processes = world->local_processes();
  if (sight == Sight::mixed || processes > count)
    throw Error(
        {.outcome = Outcome::failed,
         .library = "claimcheck",
         .code = {},
         .text = sight == Sight::mixed
                     ? std::string("the processes of this node see different GPUs, and some the same")
                     : fmt::format("{} processes of this node share {} GPU{}", processes, count, count == 1 ? "" : "s"),
         .remedy = "start one process for each GPU, and let all of them see every GPU or each its own "
                   "(CUDA_VISIBLE_DEVICES)"});
  return dealt_out(count, world->local_process(), processes);
}

// Of the PCIe slot, as Linux says; -1 when it says nothing.
int numa_node_of(std::string bus_id) {
  for (char& c : bus_id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::ifstream in("/sys/bus/pci/devices/" + bus_id + "/numa_node");
  int node = -1;
  return in >> node ? node : -1;
}

Fact attribute(cudaDeviceAttr name, int ordinal, double scale) {
  int value = 0;
  const cudaError_t status = cudaDeviceGetAttribute(&value, name, ordinal);
  ignore(status);
  return status == cudaSuccess && value > 0 ? Fact(static_cast<std::int64_t>(value * scale)) : Fact();
}

bool knows(const Facts& facts, std::string_view name) {
  return std::any_of(facts.begin(), facts.end(), [&](const auto& fact) {
    return fact.first == name && !std::holds_alternative<std::monostate>(fact.second);
  });
}

// CUDA's and NVML's knowledge of one GPU; where both know a clock, NVML's is the one that throttling is judged by.
Facts details(const cudaDeviceProp& properties, const Gpu& gpu, const std::string& bus_id) {
  Facts facts = {{"compute_capability", fmt::format("{}.{}", properties.major, properties.minor)},
                 {"memory_bus_bits",
                  properties.memoryBusWidth > 0 ? Fact(static_cast<std::int64_t>(properties.memoryBusWidth)) : Fact()},
                 {"pci_bus_id", bus_id},
                 {"numa_node", gpu.numa_node >= 0 ? Fact(static_cast<std::int64_t>(gpu.numa_node)) : Fact()},
                 {"near_cpus", near_cpus(gpu.numa_node, false)},
                 {"near_cpus_usable", near_cpus(gpu.numa_node, true)},
                 {"copy_engines", static_cast<std::int64_t>(properties.asyncEngineCount)}};
  Facts sensed = gpu.sensors == nullptr ? Facts() : gpu.sensors->identity();
  for (const auto& [name, kilohertz] : {std::pair("max_sm_clock_mhz", cudaDevAttrClockRate),
                                        std::pair("max_memory_clock_mhz", cudaDevAttrMemoryClockRate)}) {
    if (knows(sensed, name)) continue;
    std::erase_if(sensed, [name = name](const auto& fact) { return fact.first == name; });
    facts.emplace_back(name, attribute(kilohertz, gpu.ordinal, 1e-3));
  }
  facts.insert(facts.end(), sensed.begin(), sensed.end());
  return facts;
}

bool is_virtual(const Nvml* nvml, const std::string& name) {
  if (name.ends_with("(virtual)")) return true;
  const Fact version = nvml == nullptr ? Fact() : nvml->driver_version();
  const auto* text = std::get_if<std::string>(&version);
  return text != nullptr && text->starts_with("virtual-");
}

Gpu read_gpu(int ordinal, Nvml* nvml) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal));
  const std::string bus_id = pci_bus_id(ordinal);
  const std::string uuid = plain_uuid(properties.uuid);
  Gpu gpu;
  gpu.ordinal = ordinal;
  gpu.capability = 10 * properties.major + properties.minor;
  gpu.numa_node = numa_node_of(bus_id);
  gpu.sensors = nvml == nullptr ? nullptr : nvml->find(uuid, bus_id);
  const bool instance = std::string_view(properties.name).find(" MIG ") != std::string_view::npos;
  gpu.facts.name = properties.name;
  gpu.facts.uuid = gpu.sensors != nullptr ? gpu.sensors->uuid() : (instance ? "MIG-" : "GPU-") + uuid;
  gpu.facts.memory_bytes = properties.totalGlobalMem;
  gpu.facts.last_level_cache_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  gpu.facts.compute_units = properties.multiProcessorCount;
  gpu.facts.is_virtual = is_virtual(nvml, gpu.facts.name);
  gpu.facts.more = details(properties, gpu, bus_id);
  const Current current(ordinal);
  std::size_t all_bytes = 0;
  check(cudaMemGetInfo(&gpu.facts.free_memory_bytes, &all_bytes));
  return gpu;
}

// A kernel that does nothing shows whether the GPU works and whether this program has code for it.
void try_out(Device& device) {
  const std::unique_ptr<Stream> stream = device.make_stream();
  device.launch_empty(*stream);
  stream->wait(Duration(30));
}

Error no_code(const Gpu& gpu, const Error& error) {
  return Error({.outcome = Outcome::unsupported,
                .library = "CUDA",
                .code = error.detail().code,
                .text = fmt::format("this worker has no code for {}, compute capability {}.{}", gpu.facts.name,
                                    gpu.capability / 10, gpu.capability % 10),
                .remedy = gpu.capability < 75
                              ? "use a worker built with CUDA 12, the last that knows GPUs older than compute "
                                "capability 7.5"
                              : fmt::format("build it with CMAKE_CUDA_ARCHITECTURES={}", gpu.capability)});
}

std::unique_ptr<Device> start_device(int ordinal, int index, Nvml* nvml, Duration deadline) {
  Gpu gpu = read_gpu(ordinal, nvml);
  gpu.deadline = deadline;
  gpu.facts.index = index;
  std::unique_ptr<Device> device = make_device(gpu);
  try {
    try_out(*device);
  } catch (const Error& error) {
    const std::string& code = error.detail().code;
    if (code == "cudaErrorNoKernelImageForDevice" || code == "cudaErrorInvalidDeviceFunction" ||
        code == "cudaErrorUnsupportedPtxVersion")
      throw no_code(gpu, error);
    throw;
  }
  return device;
}

class CudaPlatform final : public Platform {
 public:
  CudaPlatform(NvmlOpened nvml, const PlatformOptions& options) : nvml_(std::move(nvml)) {
    const auto [begin, count] = own_share(options.world, nvml_.nvml.get(), [&] { return count_devices(nvml_); });
    std::optional<Error> first;
    for (int ordinal = begin; ordinal < begin + count; ++ordinal) {
      // One bad GPU of eight is a finding, not the end: the others are measured, and facts() names it.
      try {
        owned_.push_back(start_device(ordinal, static_cast<int>(owned_.size()), nvml_.nvml.get(), options.deadline));
        devices_.push_back(owned_.back().get());
      } catch (const Error& error) {
        if (!first) first = error;
        left_out_ += fmt::format("{}GPU {}: {}", left_out_.empty() ? "" : "; ", ordinal, error.what());
      }
    }
    if (devices_.empty()) throw *first;
  }

  std::string_view kind() const override { return "cuda"; }

  Facts facts() const override {
    Facts facts = version_facts(nvml_.nvml.get());
    if (!nvml_.nvml) facts.emplace_back("nvml", "not usable: " + nvml_.reason);
    if (!left_out_.empty()) facts.emplace_back("left_out", left_out_);
    std::vector<const Gpu*> gpus;
    bool virtual_gpu = false;
    for (const Device* device : devices_) {
      gpus.push_back(&gpu_of(*device));
      virtual_gpu = virtual_gpu || device->facts().is_virtual;
    }
    if (virtual_gpu) facts.emplace_back("virtual", true);
    const Facts links = link_facts(gpus);
    facts.insert(facts.end(), links.begin(), links.end());
    return facts;
  }

  std::span<Device* const> devices() override { return devices_; }
  std::span<Device* const> ranks() override { return devices_; }
  std::unique_ptr<Gate> make_gate() override { return cuda::make_gate(); }
  Access access(const Device& from, const Device& to) override {
    return can_access(gpu_of(from), gpu_of(to)) ? Access::direct : Access::through_host;
  }
  std::unique_ptr<Group> make_group(std::span<Device* const> local, World& world) override {
    return cuda::make_group(local, world);
  }

 private:
  NvmlOpened nvml_;  // outlives the devices, whose sensors it owns
  std::vector<std::unique_ptr<Device>> owned_;
  std::vector<Device*> devices_;
  std::string left_out_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Platform> open_platform(const PlatformOptions& options) {
  cuda::ask_for_nccl_output();
  return std::make_unique<cuda::CudaPlatform>(cuda::open_nvml(), options);
}

}  // namespace claimcheck::kernels
