// The probe over small fabricated trees: real values in, the same values out; absent and odd files never hurt.
#include "harness/probe/probe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/probe/tree.h"
#include "tests/unit/fabricated_machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using namespace std::string_literals;

void add_cpu(FabricatedMachine& machine, int cpu, int socket, int core) {
  const std::string base = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  machine.file(base + "physical_package_id", std::to_string(socket) + "\n");
  machine.file(base + "core_id", std::to_string(core) + "\n");
}

TEST(Probe, AnEmptyMachineIsUnknownNotAnError) {
  const FabricatedMachine machine;
  const json system = machine.system();
  for (const char* key : {"host", "kernel", "memory_bytes", "memory_available_bytes", "virtualization", "container",
                          "nvidia_driver", "shm_bytes"})
    EXPECT_TRUE(system.at(key).is_null()) << key << " " << system.at(key);
  for (const char* key : {"model", "sockets", "cores", "usable_cores", "smt", "numa_nodes", "quota_cores"})
    EXPECT_TRUE(system.at("cpu").at(key).is_null()) << key;
  for (const char* key : {"pci_gpus", "nics", "disks", "software", "environment"}) EXPECT_TRUE(system.at(key).empty());
  EXPECT_TRUE(system_findings(system).empty());
  EXPECT_EQ(machine.platform().at("how"), "unknown");
  EXPECT_TRUE(machine.platform().at("provider").is_null());
}

TEST(Probe, TopologyMemoryAndSystem) {
  FabricatedMachine machine;
  machine.file("etc/os-release", "PRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\nID=ubuntu\nVERSION_ID=\"22.04\"\n")
      .file("proc/sys/kernel/osrelease", "6.5.0-1020-aws\n")
      .file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8488C\nflags\t\t: fpu sse avx\n")
      .file("proc/self/status", "Name:\tclaimcheck\nCpus_allowed:\t7f\nCpus_allowed_list:\t0-5,7\n")
      .file("proc/meminfo", "MemTotal:       2097152 kB\nMemAvailable:   1048576 kB\nSwapTotal: 8 kB\nSwapFree: 3 kB\n")
      .file("proc/self/mounts", "/dev/sda1 / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,size=65536k,inode64 0 0\n")
      .file("proc/stat", "cpu  100 0 100 700 50 0 0 50 10 0\ncpu0 1 2 3\n")
      .folder("sys/devices/system/node/node0")
      .folder("sys/devices/system/node/node1")
      .folder("sys/devices/system/cpu/cpufreq");
  for (int cpu = 0; cpu < 8; ++cpu) add_cpu(machine, cpu, cpu / 4, (cpu / 2) % 2);
  const json system = machine.system();
  const json& cpu = system.at("cpu");
  EXPECT_EQ(cpu.at("model"), "Intel(R) Xeon(R) Platinum 8488C");
  EXPECT_EQ(cpu.at("sockets"), 2);
  EXPECT_EQ(cpu.at("cores"), 4);
  EXPECT_EQ(cpu.at("threads"), 8);
  EXPECT_EQ(cpu.at("usable_cores"), 7);
  EXPECT_EQ(cpu.at("smt"), true);
  EXPECT_EQ(cpu.at("numa_nodes"), 2);
  EXPECT_DOUBLE_EQ(cpu.at("steal_fraction").get<double>(), 0.05);  // 50 of 1000 ticks
  EXPECT_EQ(system.at("memory_bytes"), 2147483648);
  EXPECT_EQ(system.at("memory_available_bytes"), 1073741824);
  EXPECT_EQ(system.at("swap_used_bytes"), 5 * 1024);
  EXPECT_EQ(system.at("shm_bytes"), 64 * 1024 * 1024);
  EXPECT_EQ(system.at("virtualization"), "none");
  EXPECT_EQ(system.at("container"), "none");
  EXPECT_EQ(system.at("os").at("name"), "Ubuntu 22.04.4 LTS");
  EXPECT_EQ(system.at("os").at("id"), "ubuntu");
  EXPECT_EQ(system.at("kernel"), "6.5.0-1020-aws");
}

TEST(Probe, CpuinfoServesWhereSysfsIsSilent) {
  FabricatedMachine machine;
  machine.file("proc/cpuinfo",
               "processor : 0\nphysical id : 0\ncore id : 0\n\nprocessor : 1\nphysical id : 0\ncore id : 1\n\n"
               "processor : 2\nphysical id : 1\ncore id : 0\n");
  EXPECT_EQ(machine.system().at("cpu").at("sockets"), 2);
  EXPECT_EQ(machine.system().at("cpu").at("cores"), 3);
  EXPECT_EQ(machine.system().at("cpu").at("smt"), false);
  machine.file("proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd4f\n");
  EXPECT_EQ(machine.system().at("cpu").at("model"), "Arm Neoverse V2");
}

TEST(Probe, ControlGroupsVersion2TakeTheTightestLevel) {
  FabricatedMachine machine;
  machine.file("proc/self/cgroup", "0::/pod/box\n")
      .file("proc/meminfo", "MemTotal: 16777216 kB\n")
      .file("sys/fs/cgroup/cpu.max", "max 100000\n")
      .file("sys/fs/cgroup/pod/cpu.max", "150000 100000\n")
      .file("sys/fs/cgroup/pod/box/cpu.max", "400000 100000\n")
      .file("sys/fs/cgroup/pod/memory.max", "max\n")
      .file("sys/fs/cgroup/pod/box/memory.max", "1073741824\n");
  EXPECT_DOUBLE_EQ(machine.system().at("cpu").at("quota_cores").get<double>(), 1.5);
  EXPECT_EQ(machine.system().at("memory_limit_bytes"), 1073741824);
}

TEST(Probe, ControlGroupsVersion1) {
  FabricatedMachine machine;
  machine.file("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n")
      .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_TRUE(machine.system().at("cpu").at("quota_cores").is_null());
  EXPECT_TRUE(machine.system().at("memory_limit_bytes").is_null());
  EXPECT_EQ(machine.system().at("container"), "docker");
  machine.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  EXPECT_DOUBLE_EQ(machine.system().at("cpu").at("quota_cores").get<double>(), 2.5);
}

TEST(Probe, GpusOnTheBusWithNamesFromDriverOrPciIds) {
  FabricatedMachine machine;
  add_gpu(machine, "0000:17:00.0", "nvidia");
  add_gpu(machine, "0000:65:00.0", "");
  machine.file("sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n")
      .file("sys/bus/pci/devices/0000:00:02.0/vendor", "0x1013\n")  // a console adapter is no GPU
      .file("sys/bus/pci/devices/0000:c1:00.0/class", "0x120000\n")
      .file("sys/bus/pci/devices/0000:c1:00.0/vendor", "0x1002\n")
      .file("sys/bus/pci/devices/0000:17:00.0/current_link_width", "8\n")
      .file("sys/bus/pci/devices/0000:17:00.0/max_link_width", "16\n")
      .file("proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 5\n")
      .file("usr/share/misc/pci.ids",
            "# list\n1002  AMD\n\t2330  not this one\n10de  NVIDIA\n\t2330  GH100 [H100 SXM5]\n")
      .file("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n");
  const json system = machine.system();
  const json& gpus = system.at("pci_gpus");
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[0].at("name"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpus[0].at("driver"), "nvidia");
  EXPECT_EQ(gpus[0].at("link_width"), 8);
  EXPECT_EQ(gpus[0].at("link_width_max"), 16);
  EXPECT_EQ(gpus[1].at("name"), "GH100 [H100 SXM5]");
  EXPECT_TRUE(gpus[1].at("driver").is_null());
  EXPECT_EQ(gpus[2].at("vendor"), "amd");
  EXPECT_EQ(system.at("nvidia_driver"), "570.124.06");
}

TEST(Probe, NetworkAndDisks) {
  FabricatedMachine machine;
  machine.folder("sys/class/net/lo")
      .folder("sys/class/net/ens5/device")
      .file("sys/class/net/ens5/speed", "100000\n")
      .file("sys/class/net/ens5/operstate", "up\n")
      .folder("sys/class/net/ens6/device")
      .file("sys/class/net/ens6/speed", "-1\n")
      .link("sys/class/infiniband/rdmap16s27/device/driver", "../../efa")
      .file("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n")
      .file("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n")
      .file("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n")
      .file("sys/class/infiniband/mlx5_1/ports/1/link_layer", "Ethernet\n")
      .folder("sys/block/loop0")
      .file("sys/block/nvme0n1/size", "7500000000\n")
      .file("sys/block/nvme0n1/queue/rotational", "0\n")
      .file("sys/block/nvme0n1/device/model", "Amazon EC2 NVMe Instance Storage         \n");
  const json system = machine.system();
  const json& nics = system.at("nics");
  ASSERT_EQ(nics.size(), 5u) << nics;
  EXPECT_EQ(nics[0].at("name"), "ens5");
  EXPECT_EQ(nics[0].at("speed_gbps"), 100);
  EXPECT_TRUE(nics[1].at("speed_gbps").is_null());
  EXPECT_EQ(nics[2].at("kind"), "infiniband");
  EXPECT_EQ(nics[2].at("speed_gbps"), 400);
  EXPECT_EQ(nics[2].at("state"), "active");
  EXPECT_EQ(nics[3].at("kind"), "roce");
  EXPECT_EQ(nics[4].at("kind"), "efa");
  ASSERT_EQ(system.at("disks").size(), 1u);
  EXPECT_EQ(system.at("disks")[0].at("model"), "Amazon EC2 NVMe Instance Storage");
  EXPECT_EQ(system.at("disks")[0].at("bytes"), 3840000000000);
  EXPECT_EQ(system.at("disks")[0].at("rotational"), false);
}

TEST(Probe, OnlyAllowedEnvironmentIsKept) {
  const FabricatedMachine machine;
  ProbeOptions options = machine.options();
  options.environment = {{"NCCL_DEBUG", "INFO"},
                         {"OMP_NUM_THREADS", "2"},
                         {"CUDA_VISIBLE_DEVICES", "0,1"},
                         {"AWS_SECRET_ACCESS_KEY", "x"},
                         {"MY_NCCL_TOKEN", "x"},
                         {"CUDA_HOME", "/x"},
                         {"HOME", "/root"},
                         {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
  const json system = probe_system(options);
  EXPECT_EQ(system.at("environment"),
            (json{{"NCCL_DEBUG", "INFO"}, {"OMP_NUM_THREADS", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}));
  EXPECT_EQ(system.at("container"), "kubernetes");
}

TEST(Probe, IdentifiersAreHashedUnlessKept) {
  EXPECT_EQ(hashed("abc"), "sha256:ba7816bf8f01cfea");  // FIPS 180-2, appendix B.1
  FabricatedMachine machine;
  machine.file("proc/sys/kernel/hostname", "abc\n")
      .file("run/cloud-init/instance-data.json", R"({"v1": {"cloud_name": "aws", "instance_id": "i-0abc"}})");
  EXPECT_EQ(machine.system().at("host"), "sha256:ba7816bf8f01cfea");
  EXPECT_EQ(machine.platform().at("instance_id"), hashed("i-0abc"));
  ProbeOptions options = machine.options();
  options.keep_identifiers = true;
  EXPECT_EQ(probe_system(options).at("host"), "abc");
  EXPECT_EQ(probe_platform(options).at("instance_id"), "i-0abc");
}

TEST(Probe, OddFilesNeverHurt) {
  const std::string noise = "\xff\xfe\x00\x01\xc3\x28 =:\n\n:\n999999999999999999999999\n-\n\xf0\x9f"s;
  const std::vector<std::string> files = {"etc/os-release",
                                          "proc/cpuinfo",
                                          "proc/meminfo",
                                          "proc/stat",
                                          "proc/self/status",
                                          "proc/self/cgroup",
                                          "proc/self/mounts",
                                          "proc/sys/kernel/hostname",
                                          "proc/driver/nvidia/version",
                                          "run/cloud-init/instance-data.json",
                                          "run/systemd/container",
                                          "sys/class/dmi/id/sys_vendor",
                                          "sys/class/net/a/device/driver",
                                          "sys/class/net/a/speed",
                                          "sys/class/infiniband/b/ports/1/rate",
                                          "sys/block/c/size",
                                          "sys/bus/pci/devices/d/class",
                                          "usr/local/cuda/version.json",
                                          "var/lib/dpkg/status"};
  for (const std::string& content : {noise, std::string(), std::string(100000, ':'), std::string("[[[[{\"v1\": 3}")}) {
    FabricatedMachine machine;
    for (const std::string& file : files) machine.file(file, content);
    EXPECT_NO_THROW(static_cast<void>(machine.system().dump()));  // dump() refuses text that is not UTF-8
    EXPECT_NO_THROW(static_cast<void>(machine.platform().dump()));
    EXPECT_NO_THROW(system_findings(machine.system()));
  }
  FabricatedMachine folders;  // a folder where a file should be
  for (const std::string& file : files) folders.folder(file);
  EXPECT_NO_THROW(static_cast<void>(folders.system().dump()));
}

TEST(ProbeTree, BytesThatAreNotUtf8BecomeQuestionMarks) {
  FabricatedMachine machine;
  machine.file("a", "caf\xc3\xa9 \xff\xc0\xaf\xed\xa0\x80 ok\n");
  EXPECT_EQ(probe::Tree(machine.root()).line("a"), "caf\xc3\xa9 ?????? ok");
}

TEST(ProbeTree, ListsOfCpus) {
  EXPECT_EQ(probe::list_count("0-3,8"), 5);
  EXPECT_EQ(probe::list_count("7"), 1);
  EXPECT_EQ(probe::list_count(""), std::nullopt);
  EXPECT_EQ(probe::list_count("3-1"), std::nullopt);
  EXPECT_EQ(probe::list_count("0-,"), std::nullopt);
}

}  // namespace
}  // namespace claimcheck
