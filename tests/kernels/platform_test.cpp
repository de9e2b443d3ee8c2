// What the host platform says about the machine: read from this one, and from small made-up /proc and /sys trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/host/control_group.h"
#include "kernels/host/cpu.h"
#include "kernels/host/watch.h"
#include "tests/kernels/support.h"

namespace claimcheck::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Fact* find(const Facts& facts, std::string_view wanted) {
  for (const auto& [name, fact] : facts)
    if (name == wanted) return &fact;
  return nullptr;
}

// A directory that stands for "/", removed at the end.
class Root {
 public:
  Root() {
    static int made = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("claimcheck-root-" + std::to_string(getpid()) + "-" + std::to_string(made++));
    std::filesystem::create_directories(path_);
  }
  ~Root() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  const Root& file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return *this;
  }
  operator const std::filesystem::path&() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(Platform, DeviceIsTheWholeCpuAndRanksAreItsCores) {
  const auto platform = open_platform({});
  EXPECT_EQ(platform->kind(), "host");
  ASSERT_EQ(platform->devices().size(), 1U);
  const DeviceFacts& machine = platform->devices()[0]->facts();
  EXPECT_EQ(machine.compute_units, static_cast<int>(platform->ranks().size()));
  EXPECT_FALSE(machine.name.empty());
  EXPECT_GE(machine.memory_bytes, machine.free_memory_bytes);
  EXPECT_GT(machine.free_memory_bytes, 0U);
  EXPECT_FALSE(machine.is_virtual);
  const std::vector<int> usable = host::affinity();
  int index = 0;
  for (Device* rank : platform->ranks()) {
    EXPECT_EQ(rank->facts().index, index++);
    EXPECT_EQ(rank->facts().compute_units, 1);
    const auto cpu = static_cast<int>(std::get<std::int64_t>(*find(rank->facts().more, "cpu")));
    EXPECT_THAT(usable, testing::Contains(cpu));
    EXPECT_EQ(rank->facts().name, "core " + std::to_string(cpu) + " of " + machine.name);
  }
}

TEST(Platform, ThreadsAreRespectedAndImpossibleOnesRefused) {
  const auto one = test::open_with(1);
  EXPECT_EQ(one->ranks().size(), 1U);
  EXPECT_EQ(one->devices()[0]->facts().compute_units, 1);
  const std::string most = std::to_string(host::affinity().size());
  for (const int threads : {0, -3, 100000}) {
    const Error error = test::error_of([&] { open_platform({.threads = threads}); });
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(threads) + " threads were asked for"));
    EXPECT_THAT(error.what(), HasSubstr("give a number from 1 to " + most));
  }
}

TEST(Platform, TheAffinityMaskOfTheProcessIsRespected) {
  const std::vector<int> before = host::affinity();
  std::vector<std::string> names;
  std::thread([&] {
    host::bind_to({before.back()});
    const auto platform = open_platform({});
    for (Device* rank : platform->ranks()) names.push_back(rank->facts().name);
  }).join();
  ASSERT_EQ(names.size(), 1U);
  EXPECT_THAT(names[0], HasSubstr("core " + std::to_string(before.back()) + " of "));
  EXPECT_EQ(host::affinity(), before);
}

TEST(Platform, FactsNameTheSoftware) {
  const Facts facts = open_platform({})->facts();
  for (const char* name : {"kernel_release", "libc", "openblas_version", "openblas_core", "compiler"}) {
    ASSERT_NE(find(facts, name), nullptr) << name;
    EXPECT_FALSE(std::get<std::string>(*find(facts, name)).empty()) << name;
  }
  EXPECT_THAT(std::get<std::string>(*find(facts, "openblas_version")), testing::MatchesRegex("0\\.[0-9]+\\.[0-9].*"));
}

TEST(Cpu, ListsOfCpus) {
  EXPECT_THAT(host::cpu_list("0-3,8,10-11"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(host::cpu_list("5"), ElementsAre(5));
  EXPECT_THAT(host::cpu_list(""), ElementsAre());
}

// Two cores with two threads each, a cache of 16 MiB for each core, half a core's time allowed beyond one.
TEST(Cpu, CountsCoresNotThreadsAndSumsTheCaches) {
  const Root root;
  root.file("proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Example CPU 9\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string directory = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
    const std::string siblings = cpu % 2 == 0 ? "0,2\n" : "1,3\n";
    root.file(directory + "topology/thread_siblings_list", siblings);
    root.file(directory + "topology/physical_package_id", "0\n");
    root.file(directory + "cache/index0/level", "1\n").file(directory + "cache/index0/type", "Data\n");
    root.file(directory + "cache/index0/size", "32K\n").file(directory + "cache/index0/shared_cpu_list", siblings);
    root.file(directory + "cache/index1/level", "3\n").file(directory + "cache/index1/type", "Unified\n");
    root.file(directory + "cache/index1/size", "16384K\n").file(directory + "cache/index1/shared_cpu_list", siblings);
  }
  root.file("sys/devices/system/node/online", "0-1\n");
  root.file("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
  const host::Cpu cpu = host::read_cpu({0, 1, 2, 3}, root);
  EXPECT_EQ(cpu.model, "Example CPU 9");
  EXPECT_EQ(cpu.hypervisor, true);
  EXPECT_THAT(cpu.cores, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(cpu.usable_cores, 2);
  EXPECT_EQ(cpu.smt, true);
  EXPECT_EQ(cpu.last_level_cache_bytes, std::size_t{32} << 20);
  EXPECT_EQ(cpu.cache_of_core_bytes, std::size_t{16} << 20);
  EXPECT_EQ(cpu.sockets, 1);
  EXPECT_EQ(cpu.numa_nodes, 2);
  EXPECT_EQ(cpu.max_clock_mhz, 3700.0);
  EXPECT_EQ(cpu.quota_cpus, std::nullopt);
  EXPECT_THAT(host::read_cpu({2, 1, 3}, root).cores, ElementsAre(2, 1, 3));

  root.file("proc/self/cgroup", "0::/job\n").file("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  root.file("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(host::read_cpu({0, 1, 2, 3}, root).quota_cpus, 1.5);
  EXPECT_EQ(host::read_cpu({0, 1, 2, 3}, root).usable_cores, 2);
  root.file("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(host::read_cpu({0, 1, 2, 3}, root).usable_cores, 1);
}

TEST(Cpu, AnEmptyMachineIsUnknownNotZeroCores) {
  const Root root;
  const host::Cpu cpu = host::read_cpu({0, 5}, root);
  EXPECT_EQ(cpu.model, "unknown CPU");
  EXPECT_THAT(cpu.cores, ElementsAre(0, 5));
  EXPECT_EQ(cpu.usable_cores, 2);
  EXPECT_EQ(cpu.last_level_cache_bytes, 0U);
  EXPECT_EQ(cpu.max_clock_mhz, std::nullopt);
  EXPECT_EQ(cpu.hypervisor, std::nullopt);
}

TEST(ControlGroup, FreeMemoryIsTheLeastOfMachineAndGroups) {
  const Root root;
  root.file("proc/meminfo", "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    9000 kB\n");
  EXPECT_EQ(host::read_memory(root).total_bytes, 16000U << 10);
  EXPECT_EQ(host::read_memory(root).available_bytes, 9000U << 10);
  // Version 2, the limit on an outer level; 300 bytes of page cache can be given back.
  root.file("proc/self/cgroup", "0::/outer/inner\n");
  root.file("sys/fs/cgroup/outer/inner/memory.max", "max\n").file("sys/fs/cgroup/outer/inner/memory.current", "1000\n");
  root.file("sys/fs/cgroup/outer/memory.max", "5000\n").file("sys/fs/cgroup/outer/memory.current", "4000\n");
  root.file("sys/fs/cgroup/outer/memory.stat", "anon 3000\ninactive_file 300\n");
  EXPECT_EQ(host::read_memory(root).total_bytes, 5000U);
  EXPECT_EQ(host::read_memory(root).available_bytes, 1300U);
  // Version 1.
  root.file("proc/self/cgroup", "7:memory,hugetlb:/box\n");
  root.file("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "7000\n");
  root.file("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "9000\n");
  root.file("sys/fs/cgroup/memory/box/memory.stat", "total_inactive_file 500\n");
  EXPECT_EQ(host::read_memory(root).total_bytes, 7000U);
  EXPECT_EQ(host::read_memory(root).available_bytes, 0U);
}

TEST(Watch, SharesComeFromTheTicksBetweenStartAndStop) {
  const Root root;
  root.file("proc/loadavg", "1.25 0.90 0.50 3/200 4711\n");
  root.file("proc/self/cgroup", "0::/\n");
  root.file("sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_throttled 10\nthrottled_usec 2000000\n");
  root.file("sys/class/hwmon/hwmon0/name", "k10temp\n").file("sys/class/hwmon/hwmon0/temp1_input", "61500\n");
  root.file("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2450000\n");
  root.file("proc/stat",
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 100 0 50 200 10 0 0 40 0 0\nintr 1\n");
  const auto watch = host::watch_cores({1}, true, root);
  root.file("proc/stat",
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 5 5 5 5 5 5 5 5 5 5\ncpu1 160 0 60 210 20 0 0 50 0 0\nintr 1\n");
  root.file("sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_throttled 13\nthrottled_usec 2500000\n");
  const Facts facts = watch->stop();
  EXPECT_DOUBLE_EQ(std::get<double>(*find(facts, "cpu_steal_share")), 0.1);  // 10 of 100 ticks
  EXPECT_DOUBLE_EQ(std::get<double>(*find(facts, "cpu_idle_share")), 0.2);   // 10 idle and 10 waiting
  EXPECT_DOUBLE_EQ(std::get<double>(*find(facts, "load_average_1min")), 1.25);
  EXPECT_DOUBLE_EQ(std::get<double>(*find(facts, "cpu_clock_mhz")), 2450);
  EXPECT_DOUBLE_EQ(std::get<double>(*find(facts, "package_temperature_highest_c")), 61.5);
  EXPECT_EQ(std::get<std::int64_t>(*find(facts, "control_group_throttled_periods")), 3);
  EXPECT_DOUBLE_EQ(std::get<double>(*find(facts, "control_group_throttled_seconds")), 0.5);
  EXPECT_GE(std::get<double>(*find(facts, "watched_seconds")), 0.0);
}

TEST(Watch, WhatNoSensorSaysIsUnknownAndNeverZero) {
  const Root root;
  // The clock that a virtual machine shows is no measurement.
  root.file("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.138\nflags\t\t: fpu hypervisor\n");
  const Facts facts = host::watch_cores({0}, true, root)->stop();
  for (const char* name : {"cpu_clock_mhz", "cpu_clock_lowest_mhz", "cpu_steal_share", "cpu_idle_share",
                           "package_temperature_highest_c", "load_average_1min", "control_group_throttled_periods"}) {
    ASSERT_NE(find(facts, name), nullptr) << name;
    EXPECT_TRUE(std::holds_alternative<std::monostate>(*find(facts, name))) << name;
  }
}

TEST(Watch, ReadsThisMachine) {
  const auto platform = open_platform({});
  const auto watch = platform->devices()[0]->watch();
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(150)) continue;
  const Facts facts = watch->stop();
  EXPECT_GE(std::get<double>(*find(facts, "watched_seconds")), 0.15);
  const Fact& idle = *find(facts, "cpu_idle_share");
  if (const double* share = std::get_if<double>(&idle)) {
    EXPECT_GE(*share, 0.0);
    EXPECT_LE(*share, 1.0);
  }
  EXPECT_NE(find(platform->ranks()[0]->watch()->stop(), "cpu_steal_share"), nullptr);
}

}  // namespace
}  // namespace claimcheck::kernels
