// Platform identity from cloud-init and DMI, and findings from facts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/probe/probe.h"
#include "tests/unit/fabricated_machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct CloudCase {
  const char* name;
  const char* instance_data;
  const char* provider;
  const char* instance;
  const char* region;
};

class CloudInit : public testing::TestWithParam<CloudCase> {};

TEST_P(CloudInit, NamesTheInstance) {
  FabricatedMachine machine;
  machine.file("run/cloud-init/instance-data.json", GetParam().instance_data);
  const json platform = machine.platform();
  EXPECT_EQ(platform.at("how"), "cloud-init");
  EXPECT_EQ(platform.at("provider"), GetParam().provider);
  EXPECT_EQ(platform.at("instance"), GetParam().instance);
  EXPECT_EQ(platform.at("region"), GetParam().region);
}

INSTANTIATE_TEST_SUITE_P(
    Clouds, CloudInit,
    testing::Values(CloudCase{"aws",
                              R"({"v1": {"cloud_name": "aws", "region": "us-east-2", "availability_zone": "us-east-2b"},
                     "ds": {"meta_data": {"instance-type": "p5.48xlarge"}}})",
                              "aws", "p5.48xlarge", "us-east-2"},
                    CloudCase{"azure", R"({"v1": {"cloud_name": "azure", "region": "eastus"},
                     "ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_ND96isr_H100_v5"}}}}})",
                              "azure", "Standard_ND96isr_H100_v5", "eastus"},
                    CloudCase{"gcp", R"({"v1": {"cloud_name": "gce", "region": "us-central1"},
                     "ds": {"meta_data": {"machine-type": "projects/1/machineTypes/a3-highgpu-8g"}}})",
                              "gcp", "a3-highgpu-8g", "us-central1"},
                    CloudCase{"alibaba", R"({"v1": {"cloud_name": "aliyun", "region": "cn-hangzhou"},
                     "ds": {"meta_data": {"instance": {"instance-type": "ecs.gn7e-c16g1.4xlarge"}}}})",
                              "alibaba", "ecs.gn7e-c16g1.4xlarge", "cn-hangzhou"},
                    CloudCase{"oci", R"({"v1": {"cloud_name": "oracle", "region": "us-ashburn-1"},
                     "ds": {"meta_data": {"shape": "BM.GPU.H100.8"}}})",
                              "oci", "BM.GPU.H100.8", "us-ashburn-1"}),
    [](const auto& row) { return std::string(row.param.name); });

struct DmiCase {
  const char* name;
  const char* file;
  const char* text;
  const char* product;
  json provider;
  json instance;
};

class Dmi : public testing::TestWithParam<DmiCase> {};

TEST_P(Dmi, NamesTheSeller) {
  FabricatedMachine machine;
  machine.file(std::string("sys/class/dmi/id/product_name"), GetParam().product);
  machine.file(std::string("sys/class/dmi/id/") + GetParam().file, GetParam().text);
  EXPECT_EQ(machine.platform().at("provider"), GetParam().provider);
  EXPECT_EQ(machine.platform().at("instance"), GetParam().instance);
  EXPECT_EQ(machine.platform().at("how"), GetParam().provider.is_null() ? "unknown" : "dmi");
}

INSTANTIATE_TEST_SUITE_P(
    Sellers, Dmi,
    testing::Values(DmiCase{"nitro", "sys_vendor", "Amazon EC2\n", "p4d.24xlarge\n", "aws", "p4d.24xlarge"},
                    DmiCase{"xen", "bios_version", "4.2.amazon\n", "HVM domU\n", "aws", nullptr},
                    DmiCase{"azure", "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n",
                            "Virtual FabricatedMachine\n", "azure", nullptr},
                    DmiCase{"hyperv", "sys_vendor", "Microsoft Corporation\n", "Virtual FabricatedMachine\n", nullptr,
                            nullptr},
                    DmiCase{"google", "sys_vendor", "Google\n", "Google Compute Engine\n", "gcp", nullptr},
                    DmiCase{"alibaba", "sys_vendor", "Alibaba Cloud\n", "Alibaba Cloud ECS\n", "alibaba", nullptr},
                    DmiCase{"tencent", "sys_vendor", "Tencent Cloud\n", "CVM\n", "tencent", nullptr},
                    DmiCase{"oracle", "chassis_asset_tag", "OracleCloud.com\n", "Standard PC\n", "oci", nullptr},
                    DmiCase{"home", "sys_vendor", "Gigabyte\n", "B550\n", nullptr, nullptr}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Probe, CloudInitThatKnowsLessIsCompletedByDmi) {
  FabricatedMachine machine;
  machine
      .file("run/cloud-init/instance-data.json", R"({"v1": {"cloud_name": "aws", "region": "eu-west-1"},
      "ds": {"meta_data": {"instance-type": "redacted for non-root user"}}})")
      .file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
      .file("sys/class/dmi/id/product_name", "g4dn.xlarge\n");
  EXPECT_EQ(machine.platform().at("instance"), "g4dn.xlarge");
  EXPECT_EQ(machine.platform().at("region"), "eu-west-1");
}

std::vector<std::string> ids(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.text.empty()) << finding.id;
    EXPECT_FALSE(finding.next_step.empty()) << finding.id;
    names.push_back(finding.id);
  }
  return names;
}

TEST(SystemFindings, AQuotaBelowTheVisibleCpus) {
  const auto findings = system_findings({{"cpu", {{"usable_cores", 8}, {"threads", 8}, {"quota_cores", 2.5}}}});
  ASSERT_EQ(ids(findings), std::vector<std::string>{"cpu.quota"});
  EXPECT_THAT(findings[0].text, HasSubstr("2.5 cores of CPU time on 8 visible CPUs"));
  EXPECT_TRUE(system_findings({{"cpu", {{"usable_cores", 8}, {"threads", 8}, {"quota_cores", 8.0}}}}).empty());
}

TEST(SystemFindings, StealAffinitySwapAndMemory) {
  const double gib = 1024.0 * 1024 * 1024;
  EXPECT_EQ(ids(system_findings({{"cpu", {{"steal_fraction", 0.05}, {"usable_cores", 1}, {"threads", 4}}},
                                 {"swap_used_bytes", gib},
                                 {"memory_available_bytes", gib}})),
            (std::vector<std::string>{"cpu.affinity", "cpu.steal", "memory.swap", "memory.low"}));
  EXPECT_TRUE(
      system_findings(
          {{"cpu", {{"steal_fraction", 0.001}}}, {"swap_used_bytes", 1024}, {"memory_available_bytes", 4 * gib}})
          .empty());
  EXPECT_EQ(ids(system_findings({{"memory_limit_bytes", gib}})), std::vector<std::string>{"memory.limit"});
}

TEST(SystemFindings, AGpuWithoutDriverOrDeviceFile) {
  FabricatedMachine machine;
  add_gpu(machine, "0000:17:00.0", "nouveau");
  auto findings = system_findings(machine.system());
  ASSERT_EQ(ids(findings), std::vector<std::string>{"gpu.no_driver"});
  EXPECT_EQ(findings[0].severity, "error");
  EXPECT_THAT(findings[0].text, HasSubstr("no NVIDIA driver is loaded (held by nouveau)"));
  machine.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n");
  EXPECT_EQ(ids(system_findings(machine.system())), std::vector<std::string>{"gpu.not_visible"});
  machine.file("dev/nvidia0", "").file("dev/nvidiactl", "");
  EXPECT_TRUE(system_findings(machine.system()).empty());
}

TEST(SystemFindings, SharedMemoryMattersOnlyWithGpus) {
  json system = {{"shm_bytes", 67108864}, {"pci_gpus", json::array()}};
  EXPECT_TRUE(system_findings(system).empty());
  system["pci_gpus"].push_back({{"vendor", "amd"}, {"driver", "amdgpu"}, {"address", "0000:c1:00.0"}});
  const auto findings = system_findings(system);
  ASSERT_EQ(ids(findings), std::vector<std::string>{"shm.small"});
  EXPECT_THAT(findings[0].text, HasSubstr("64 MiB"));
}

}  // namespace
}  // namespace claimcheck
