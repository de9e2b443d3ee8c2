// The host platform: the CPU of this machine as one device, and each usable core of it as a rank.
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <vector>

#include "kernels/host/blas.h"
#include "kernels/host/control_group.h"
#include "kernels/host/cpu.h"
#include "kernels/host/device.h"
#include "kernels/host/group.h"
#include "kernels/host/memory_loops.h"
#include "kernels/host/stream.h"
#include "kernels/node_share.h"

namespace claimcheck::kernels {

namespace host {
namespace {

Fact known(int value) { return value > 0 ? Fact(static_cast<std::int64_t>(value)) : Fact(); }
template <class Value>
Fact known(const std::optional<Value>& value) {
  return value ? Fact(*value) : Fact();
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

// `sharing`: processes of this node, each of which takes its part of the memory.
DeviceFacts whole_machine(const Cpu& cpu, int cores, std::size_t sharing) {
  const Memory memory = read_memory();
  DeviceFacts facts;
  facts.name = cpu.model;
  facts.memory_bytes = memory.total_bytes / sharing;
  facts.free_memory_bytes = memory.available_bytes / sharing;
  facts.last_level_cache_bytes = cpu.last_level_cache_bytes;
  facts.compute_units = cores;
  facts.more = {{"sockets", known(cpu.sockets)},
                {"numa_nodes", known(cpu.numa_nodes)},
                {"smt", known(cpu.smt)},
                {"logical_cpus", static_cast<std::int64_t>(cpu.cores.size())},
                {"control_group_cpus", known(cpu.quota_cpus)},
                {"max_clock_mhz", known(cpu.max_clock_mhz)},
                {"isa", std::string(memory_loops().isa)},
                {"hypervisor", known(cpu.hypervisor)}};
  return facts;
}

DeviceFacts one_core(const DeviceFacts& machine, const Cpu& cpu, int rank, int core) {
  DeviceFacts facts = machine;
  facts.index = rank;
  facts.name = fmt::format("core {} of {}", core, cpu.model);
  facts.last_level_cache_bytes = cpu.cache_of_core_bytes;
  facts.compute_units = 1;
  facts.more = {{"cpu", static_cast<std::int64_t>(core)}, {"isa", std::string(memory_loops().isa)}};
  return facts;
}

class HostPlatform final : public Platform {
 public:
  HostPlatform(const Cpu& cpu, int cores, const std::vector<int>& all_cpus, int sharing) {
    const std::vector<int> used(cpu.cores.begin(), cpu.cores.begin() + cores);
    const DeviceFacts facts = whole_machine(cpu, cores, static_cast<std::size_t>(sharing));
    machine_ = std::make_unique<HostDevice>(facts, used, all_cpus, true);
    devices_.push_back(machine_.get());
    for (int rank = 0; rank < cores; ++rank) {
      const int core = used[static_cast<std::size_t>(rank)];
      cores_.push_back(
          std::make_unique<HostDevice>(one_core(facts, cpu, rank, core), std::vector{core}, all_cpus, false));
      ranks_.push_back(cores_.back().get());
    }
  }

  std::string_view kind() const override { return "host"; }

  Facts facts() const override {
    utsname system{};
    uname(&system);
    return {{"kernel_release", std::string(system.release)},
            {"architecture", std::string(system.machine)},
            {"libc", std::string("glibc ") + gnu_get_libc_version()},
            {"openblas_version", blas_facts().version},
            {"openblas_core", blas_facts().core},
            {"openblas_threading", blas_facts().threading},
            {"compiler", compiler()}};
  }

  std::span<Device* const> devices() override { return devices_; }
  std::span<Device* const> ranks() override { return ranks_; }
  std::unique_ptr<Gate> make_gate() override { return std::make_unique<HostGate>(); }
  Access access(const Device& /*from*/, const Device& /*to*/) override { return Access::direct; }
  std::unique_ptr<Group> make_group(std::span<Device* const> local, World& world) override {
    return host::make_group(local, world);
  }

 private:
  std::unique_ptr<HostDevice> machine_;
  std::vector<std::unique_ptr<HostDevice>> cores_;
  std::vector<Device*> devices_;
  std::vector<Device*> ranks_;
};

// The logical CPUs of this process: all it may use, or its part of the cores where every process of the node may use
// the same. With fewer cores than processes some share one.
std::vector<int> own_cpus(World* world) {
  const std::vector<int> all = affinity();
  if (world == nullptr) return all;
  std::vector<std::string> names;
  for (const int cpu : all) names.push_back(std::to_string(cpu));
  if (compare_sights(*world, names) != Sight::same) return all;
  const Cpu cpu = read_cpu(all);
  const int whole_cores = cpu.usable_cores;
  auto [first, count] = dealt_out(whole_cores, world->local_process(), world->local_processes());
  if (count == 0) {
    first = world->local_process() % whole_cores;
    count = 1;
  }
  return {cpu.cores.begin() + first, cpu.cores.begin() + first + count};
}

}  // namespace
}  // namespace host

std::unique_ptr<Platform> open_platform(const PlatformOptions& options) {
  const std::vector<int> all_cpus = host::own_cpus(options.world);
  const host::Cpu cpu = host::read_cpu(all_cpus);
  const int most = static_cast<int>(cpu.cores.size());
  const int cores = options.threads.value_or(cpu.usable_cores);
  if (cores < 1 || cores > most)
    throw Error({.outcome = Outcome::failed,
                 .library = "claimcheck",
                 .code = {},
                 .text = fmt::format("{} threads were asked for and this process may use {} CPUs", cores, most),
                 .remedy = fmt::format("give a number from 1 to {}", most)});
  const int sharing = options.world == nullptr ? 1 : options.world->local_processes();
  return std::make_unique<host::HostPlatform>(cpu, cores, all_cpus, sharing);
}

}  // namespace claimcheck::kernels
