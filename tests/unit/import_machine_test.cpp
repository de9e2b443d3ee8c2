// Imports that tell of the machine: nvidia-smi in all its outputs, the kernel's log, dcgmi diag. Inputs are made up.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/import/import.h"
#include "harness/import/smi_keys.h"
#include "harness/import/xid_codes.h"

namespace claimcheck {
namespace {

using nlohmann::json;

importing::Imported read(const std::string& text) {
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const auto file = std::filesystem::temp_directory_path() / ("claimcheck-machine-" + name + ".log");
  std::ofstream(file, std::ios::binary) << text;
  importing::Imported imported = importing::import_files({file}, {});
  std::filesystem::remove(file);
  return imported;
}

const Finding* finding(const importing::Imported& imported, const std::string& id) {
  for (const Finding& one : imported.document.findings)
    if (one.id == id) return &one;
  return nullptr;
}

json device(const importing::Imported& imported, int index) {
  for (const json& one : imported.document.system["devices"])
    if (one["index"] == index) return one;
  return nullptr;
}

bool partial(const importing::Imported& imported, const std::string& part) {
  for (const auto& file : imported.files)
    for (const std::string& text : file.partial)
      if (text.find(part) != std::string::npos) return true;
  return false;
}

TEST(ImportSmi, PciAddressesInAllSpellings) {
  EXPECT_EQ(importing::bus_id("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(importing::bus_id("0000:04:1C.0"), "0000:04:1c.0");
  EXPECT_EQ(importing::bus_id("PCI:0000:9b:00"), "0000:9b:00.0");
  EXPECT_EQ(importing::bus_id("00:16.0"), "0000:00:16.0");
  EXPECT_FALSE(importing::bus_id("Default"));
}

TEST(ImportSmi, ValuesThatAreNoAnswerStayUnknown) {
  for (const char* value : {"N/A", "[N/A]", "Requested functionality has been deprecated", "Insufficient Permissions"})
    EXPECT_TRUE(importing::smi_fact(importing::SmiKind::number, importing::smi_value(value)).is_null()) << value;
  EXPECT_EQ(importing::smi_value("610.62 [Deprecated; will be removed. Use KMD Version instead]"), "610.62");
  EXPECT_EQ(importing::smi_fact(importing::SmiKind::mib, "2 MiB"), 2097152.0);
}

constexpr const char* old_xml = R"(<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<driver_version>535.54.03</driver_version>
	<cuda_version>12.6</cuda_version>
	<attached_gpus>4</attached_gpus>
	<gpu id="00000000:5E:1B.0">
		<product_name>NVIDIA A100-SXM4-40GB</product_name>
		<persistence_mode>Disabled</persistence_mode>
		<power_smoothing>Insufficient Permissions</power_smoothing>
		<gpu_virtualization_mode>
			<virtualization_mode>Pass-Through</virtualization_mode>
		</gpu_virtualization_mode>
		<fb_memory_usage>
			<total>40960 MiB</total>
		</fb_memory_usage>
		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
		</ecc_mode>
		<temperature>
			<gpu_temp>N/A</gpu_temp>
		</temperature>
	</gpu>
</nvidia_smi_log>
)";

TEST(ImportSmi, XmlWithOneOfFourGpus) {
  const auto imported = read(old_xml);
  const json gpu = device(imported, 0);
  EXPECT_EQ(gpu["name"], "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(gpu["memory_bytes"], 40960.0 * 1048576);
  EXPECT_EQ(gpu["facts"]["pci_bus_id"], "0000:5e:1b.0");
  EXPECT_EQ(gpu["facts"]["virtualization"], "passthrough");
  EXPECT_EQ(gpu["facts"]["persistence_mode"], false);
  EXPECT_EQ(gpu["facts"]["ecc_enabled"], true);
  EXPECT_FALSE(gpu["facts"].contains("now"));
  EXPECT_TRUE(partial(imported, "1 of 4 GPUs"));
  ASSERT_NE(finding(imported, "smi.forward_compatibility"), nullptr);
  EXPECT_EQ(imported.files[0].not_understood, 0u);
}

TEST(ImportSmi, XmlThatEndsAnywhere) {
  const std::string text = old_xml;
  for (std::size_t end = text.find('\n', text.find("<gpu ")); end != std::string::npos;
       end = text.find('\n', end + 1)) {
    const auto imported = read(text.substr(0, end + 1));
    EXPECT_FALSE(imported.files[0].partial.empty());
    EXPECT_FALSE(device(imported, 0).is_null());
  }
}

TEST(ImportSmi, LostGpuCountsAsNone) {
  const auto imported = read(
      "<nvidia_smi_log>\n<attached_gpus>2</attached_gpus>\n"
      "<gpu id=\"0000:0A:00.0\">\n<product_name>NVIDIA GB200</product_name>\n</gpu>\n"
      "<gpu id=\"0000:0B:00.0\">\n<product_name>NVIDIA GB200</product_name>\n"
      "<clocks>\n<sm_clock>GPU is lost</sm_clock>\n</clocks>\n</gpu>\n</nvidia_smi_log>\n");
  ASSERT_NE(finding(imported, "smi.gpu_lost:1"), nullptr);
  EXPECT_NE(finding(imported, "smi.gpu_lost:1")->text.find("0000:0b:00.0"), std::string::npos);
  EXPECT_EQ(imported.document.system["devices"].size(), 1u);
  EXPECT_EQ(imported.document.system["software"]["worker"]["left_out"], "GPU 1: nvidia-smi says \"GPU is lost\"");
}

TEST(ImportSmi, NoDevicesInPlaceOfXml) {
  const auto imported = read("### nvidia-smi -q -x\nNo devices were found\n");
  ASSERT_NE(finding(imported, "smi.no_devices"), nullptr);
  EXPECT_EQ(finding(imported, "smi.no_devices")->severity, "error");
  EXPECT_EQ(imported.document.system["pci_gpus"], json::array());
}

TEST(ImportSmi, TextWithRetiredPages) {
  const auto imported = read(
      "==============NVSMI LOG==============\n\nDriver Version : 535.1 [Deprecated; use another]\nAttached GPUs : 2\n"
      "GPU 00000001:00:00.0\n    Retired Pages\n        Single Bit ECC : 61\n        Double Bit ECC : 4\n"
      "        Pending Page Blacklist : No\n\n"
      "GPU 00000002:00:00.0\n    Retired Pages\n        Single Bit ECC : 3\n        Double Bit ECC : N/A\n"
      "        Pending Page Blacklist : Yes\n");
  ASSERT_NE(finding(imported, "smi.replace:0"), nullptr);
  EXPECT_EQ(finding(imported, "smi.reset_pending:0"), nullptr);
  ASSERT_NE(finding(imported, "smi.reset_pending:1"), nullptr);
  EXPECT_EQ(finding(imported, "smi.replace:1"), nullptr);
  EXPECT_FALSE(device(imported, 1)["facts"].contains("retired_pages_double_bit"));
  EXPECT_EQ(imported.document.system["nvidia_driver"], "535.1");
}

TEST(ImportSmi, PowerCapIsNoFaultAndHardwareSlowdownIs) {
  const std::string head = "    Clocks Event Reasons\n        Idle : Not Active\n        SW Power Cap : Active\n";
  EXPECT_TRUE(read(head).document.findings.empty());
  const auto hot = read(head + "        HW Slowdown : Active\n            HW Thermal Slowdown : Active\n");
  ASSERT_NE(finding(hot, "smi.slowdown:0"), nullptr);
  EXPECT_EQ(finding(hot, "smi.slowdown:0")->evidence["reasons"], "hw_slowdown, hw_thermal_slowdown");
}

TEST(ImportSmi, TopologyInPairs) {
  const auto imported = read(
      "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tNV12\tSYS\tSYS\tPIX\t0-31\t0\nGPU1\tNV12\t X \tSYS\tSYS\tNODE\t0-31\t0\n"
      "GPU2\tSYS\tSYS\t X \tNV12\tSYS\t32-63\tN/A\nGPU3\tSYS\tSYS\tNV12\t X \tSYS\t32-63\tN/A\n\n"
      "NIC Legend:\n\n  NIC0: mlx5_4\n");
  ASSERT_NE(finding(imported, "topology.nvlink_groups"), nullptr);
  EXPECT_EQ(finding(imported, "topology.nvlink_groups")->evidence["groups"], json::parse("[[0,1],[2,3]]"));
  EXPECT_EQ(device(imported, 0)["facts"]["nvlink_links_active"], 12);
  EXPECT_EQ(device(imported, 0)["facts"]["numa_node"], 0.0);
  EXPECT_FALSE(device(imported, 2)["facts"].contains("numa_node"));
  EXPECT_EQ(imported.document.system["software"]["worker"]["gpu0_nearest_nics"], "mlx5_4");
}

TEST(ImportSmi, TopologyThroughSwitchesCountsLinksOnce) {
  const auto imported = read(
      "        GPU0    GPU1    GPU2    CPU Affinity\nGPU0     X      NV8     NV8     0-47\n"
      "GPU1    NV8      X      NV8     0-47\n");
  EXPECT_EQ(device(imported, 0)["facts"]["nvlink_links_active"], 8);
  EXPECT_TRUE(partial(imported, "3 GPUs, and rows for 2"));
}

TEST(ImportSmi, PeerAccessMatrixIsNoMatrixOfLinks) {
  const auto imported = read(
      " \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tNS\n GPU1\tOK\tX\tU\n GPU2\tNS\tU\tX\n\nLegend:\n\n  X    = Self\n"
      "  OK   = Status Ok\n  NS   = Not supported\n");
  ASSERT_NE(finding(imported, "topology.peer_access"), nullptr);
  EXPECT_EQ(finding(imported, "topology.peer_access")->evidence["may"], "0-1");
  EXPECT_EQ(imported.document.system["software"]["worker"]["gpu1_peer_access_to"], json::parse("[1,1,null]"));
}

TEST(ImportSmi, LinksDownAndUnderMig) {
  const auto imported = read(
      "GPU 2: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\nNVML: Unable to retrieve NVLink information as all links are "
      "inActive\n"
      "GPU 3: NVIDIA A100-SXM4-80GB (UUID: GPU-2)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n"
      "GPU 4: NVIDIA A100-SXM4-80GB (UUID: GPU-3)\nNvlink queries are not supported for Devices in MIG mode\n");
  ASSERT_NE(finding(imported, "smi.nvlink_down:2"), nullptr);
  EXPECT_EQ(finding(imported, "smi.nvlink_down:2")->evidence["links"], 12);
  EXPECT_EQ(device(imported, 3)["facts"]["nvlink_links_active"], 1);
  EXPECT_FALSE(device(imported, 4)["facts"].contains("nvlink_links_active"));
}

TEST(ImportSmi, TableWithNewLabels) {
  const auto imported = read(
      "| NVIDIA-SMI 610.10        KMD Version: 610.10     CUDA UMD Version: 13.3 |\n"
      "|   0  NVIDIA GeForce RTX 3070 ...  WDDM  |   00000000:0C:00.0  On |                  N/A |\n"
      "| 38%   44C    P2             97W /  220W |    1366MiB /   8192MiB |     N/A      Default |\n"
      "|                                         |                        |                  N/A |\n");
  EXPECT_EQ(imported.document.system["nvidia_driver"], "610.10");
  ASSERT_NE(finding(imported, "smi.wddm:0"), nullptr);
  EXPECT_EQ(device(imported, 0)["facts"]["power_limit_w"], 220.0);
  EXPECT_FALSE(device(imported, 0)["facts"]["now"].contains("utilization_percent"));
}

TEST(ImportSmi, CsvWithPowerLimitsThatDiffer) {
  const auto imported = read(
      "index, name, pci.bus_id, power.limit [W], utilization.gpu [%]\n"
      "0, Tesla V100-SXM2-16GB, 00000000:1A:00.0, 300.00 W, [N/A]\n"
      "1, Tesla V100-SXM2-16GB, 00000000:1B:00.0, 160.00 W, 3 %\n");
  ASSERT_NE(finding(imported, "smi.power_limits_differ"), nullptr);
  EXPECT_NE(finding(imported, "smi.power_limits_differ")->text.find("GPU 1"), std::string::npos);
  EXPECT_EQ(device(imported, 1)["facts"]["now"]["utilization_percent"], 3.0);
}

TEST(ImportKernelLog, XidInEveryKindOfLog) {
  for (const char* start :
       {"[Mon Mar  3 10:00:00 2025] ", "[  123.456789] ", "3,812,99120,-;", "Mar  3 10:00:00 node kernel: "}) {
    const auto imported =
        read(std::string(start) + "NVRM: Xid (PCI:0000:4e:00): 119, pid=77, name=x, Timeout of RPC\n");
    const Finding* found = finding(imported, "kernel.xid:119:0000:4e:00.0");
    ASSERT_NE(found, nullptr) << start;
    EXPECT_EQ(found->severity, "error");
  }
}

TEST(ImportKernelLog, FallenOffTheBusOverThreeLines) {
  const auto imported = read(
      "[  12.5] NVRM: The NVIDIA GPU 0000:c3:00.0\n              NVRM: (PCI ID: 10de:26b5) installed in this system "
      "has\n"
      "              NVRM: fallen off the bus and is not responding to commands.\n");
  ASSERT_NE(finding(imported, "kernel.xid:79:0000:c3:00.0"), nullptr);
  EXPECT_EQ(imported.files[0].not_understood, 0u);
}

TEST(ImportKernelLog, PeermemIsAWarning) {
  const auto imported =
      read("6,39,2279,-;nvidia-peermem nv_get_p2p_free_callback:1 ERROR detected invalid context, skipping\n");
  ASSERT_NE(finding(imported, "kernel.peermem"), nullptr);
  EXPECT_EQ(finding(imported, "kernel.peermem")->severity, "warning");
}

TEST(ImportKernelLog, TableHasTheCodesThatEndRuns) {
  for (const int code : {48, 61, 62, 63, 64, 74, 79, 94, 95, 119, 120, 140, 143, 145, 149, 150, 154}) {
    ASSERT_NE(importing::find_xid(code), nullptr) << code;
    EXPECT_EQ(importing::find_xid(code)->severity, "error") << code;
  }
  for (const int code : {13, 31, 43, 45, 92}) EXPECT_EQ(importing::find_xid(code)->severity, "warning") << code;
  EXPECT_EQ(importing::find_xid(9999), nullptr);
}

TEST(ImportDcgm, TableOfVersion4) {
  const std::string text =
      "Successfully ran diagnostic for group.\n| Diagnostic      | Result    |\n+====+====+\n"
      "|-----  Deployment  --------+---|\n| software | Pass |\n|          | GPU0: Pass |\n"
      "+-----  Hardware  ----------+---+\n| memory   | Fail |\n|          | GPU0: Pass |\n|          | GPU1: Fail |\n"
      "| pulse    | Skip |\n+---------------------------+------+\n";
  const auto imported = read(text);
  ASSERT_NE(finding(imported, "dcgm.fail:memory"), nullptr);
  EXPECT_NE(finding(imported, "dcgm.fail:memory")->text.find("GPU 1"), std::string::npos);
  EXPECT_EQ(imported.document.system["software"]["dcgm_diag"]["pulse"], "skip");
  EXPECT_TRUE(imported.files[0].partial.empty());
  EXPECT_TRUE(partial(read(text.substr(0, text.find("| pulse"))), "incomplete"));
}

TEST(ImportDcgm, JsonOfBothVersions) {
  const auto imported = read(
      R"({"DCGM GPU Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [null, {"name": "PCIe",
         "results": [{"gpu_ids": "0,2", "status": "FAIL", "warnings": ["too slow"]}]}]}]}})");
  ASSERT_NE(finding(imported, "dcgm.fail:PCIe"), nullptr);
  EXPECT_NE(finding(imported, "dcgm.fail:PCIe")->text.find("GPU 0, 2 (too slow)"), std::string::npos);
  const auto newer = read(
      R"({"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "software", "results": [{"entity_group": "GPU",
         "entity_id": 1, "status": "Pass"}], "test_summary": {"status": "Pass"}}]}]}})");
  EXPECT_EQ(newer.document.system["software"]["dcgm_diag"]["software"], "pass");
}

}  // namespace
}  // namespace claimcheck
