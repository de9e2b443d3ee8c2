// What tells of a machine only in part: cut outputs, rows without header, slices of GPUs.
#include "harness/judge/claim.h"
#include "harness/judge/judge.h"
#include "tests/unit/import_log_support.h"

namespace claimcheck {
namespace {

using namespace import_test;
using testing::HasSubstr;

Verdict count_of_8(const Imported& run) {
  return all_verdicts(run.document, parse_claims({"identity.accelerator_count==8"}), Catalog{}).front();
}

TEST(import_machine_parts, a_file_with_one_of_eight_contradicts_no_number) {
  const Imported run = imported(
      "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<driver_version>550.54.15</driver_version>\n"
      "<attached_gpus>8</attached_gpus>\n<gpu id=\"00000000:10:1C.0\">\n<product_name>NVIDIA "
      "A100-SXM4-40GB</product_name>\n<minor_number>3</minor_number>\n</gpu>\n</nvidia_smi_log>\n");
  EXPECT_THAT(remarks(run), HasSubstr("1 of 8 GPUs that nvidia-smi counts are in the file"));
  EXPECT_EQ(run.document.system["devices"].size(), 8u);
  EXPECT_EQ(run.document.system["devices"][3]["name"], "NVIDIA A100-SXM4-40GB");
  EXPECT_FALSE(run.document.system["devices"][0].contains("name"));
  EXPECT_EQ(count_of_8(run).kind, VerdictKind::met);
}

TEST(import_machine_parts, a_sick_gpu_is_none_of_the_others) {
  const Imported run = imported(
      "==============NVSMI LOG==============\n\nDriver Version                            : 535.161.08\n"
      "Attached GPUs                             : 8\nGPU 00000000:00:16.0\n"
      "    Product Name                          : Unknown Error\n    Product Brand                         : Unknown "
      "Error\n");
  ASSERT_NE(finding(run, "smi.gpu_error:0"), nullptr);
  EXPECT_EQ(run.document.system["devices"].size(), 7u) << "it counts in no statistic";
  EXPECT_EQ(count_of_8(run).kind, VerdictKind::contradicted);
}

std::string fabric(const std::string& cluster, int clique) {
  return "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<attached_gpus>1</attached_gpus>\n<gpu "
         "id=\"00000000:00:05.0\">\n<product_name>NVIDIA B200</product_name>\n<fabric>\n<state>Completed</state>\n"
         "<status>Success</status>\n<cliqueId>" +
         std::to_string(clique) + "</cliqueId>\n<clusterUuid>" + cluster +
         "</clusterUuid>\n<health>\n<summary>Healthy</summary>\n</health>\n</fabric>\n"
         "<power_smoothing>Insufficient Permissions</power_smoothing>\n</gpu>\n</nvidia_smi_log>\n";
}

TEST(import_machine_parts, an_all_zero_cluster_is_no_domain) {
  const Imported alone = imported(fabric("00000000-0000-0000-0000-000000000000", 0));
  const json facts = alone.document.system["devices"][0]["facts"];
  EXPECT_EQ(facts["fabric_state"], "completed");
  EXPECT_EQ(facts["fabric_health"], "healthy");
  EXPECT_EQ(facts["fabric_spans_machines"], false);
  EXPECT_FALSE(facts.contains("fabric_clique"));
  const Imported rack = imported(fabric("0a1b2c3d-0000-4000-8000-00000000000a", 5));
  EXPECT_EQ(rack.document.system["devices"][0]["facts"]["fabric_clique"], 5);
  EXPECT_THAT(remarks(rack), HasSubstr("only where cluster UUID and clique agree"));
  EXPECT_THAT(rack.document.findings, testing::IsEmpty());
}

TEST(import_machine_parts, idle_clocks_are_no_throttling_and_set_ones_are_said) {
  const Imported run = imported(
      "==============NVSMI LOG==============\n\nDriver Version                      : 384.66\n\nAttached GPUs          "
      "    "
      "         : 1\nGPU 0000:00:1E.0\n    Clocks\n        Graphics                    : 324 MHz\n        SM           "
      "  "
      "             : 324 MHz\n        Memory                      : 324 MHz\n    Applications Clocks\n        "
      "Graphics   "
      "                 : 810 MHz\n        Memory                      : 2505 MHz\n    Default Applications Clocks\n   "
      "    "
      " Graphics                    : 562 MHz\n        Memory                      : 2505 MHz\n    Max Clocks\n        "
      "Graphics                    : 875 MHz\n        SM                          : 875 MHz\n");
  const json facts = run.document.system["devices"][0]["facts"];
  EXPECT_EQ(facts["pci_bus_id"], "0000:00:1e.0");
  EXPECT_EQ(facts["max_sm_clock_mhz"], 875);
  EXPECT_EQ(facts["now"]["sm_clock_mhz"], 324);
  ASSERT_EQ(run.document.findings.size(), 1u);
  EXPECT_THAT(run.document.findings[0].text, HasSubstr("application clocks of 810 MHz; the default is 562 MHz"));
}

TEST(import_machine_parts, columns_of_a_topology_are_all_there_is) {
  const Imported run = imported(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV8\tNV8\t0-9\t0\nGPU1\tNV8\t X \tNV8\t0-9\t0\n");
  EXPECT_EQ(run.document.system["devices"].size(), 3u);
  EXPECT_THAT(remarks(run), HasSubstr("has 3 GPUs, and rows for 2 of them"));
}

TEST(import_machine_parts, errors_that_could_not_be_corrected_spoil_results) {
  const Imported run = imported(
      "index, name, ecc.errors.uncorrected.volatile.total\n0, NVIDIA A10G, 0\n1, NVIDIA A10G, 3\n2, NVIDIA A10G, "
      "[N/A]\n");
  ASSERT_EQ(run.document.findings.size(), 1u);
  EXPECT_EQ(run.document.findings[0].id, "smi.ecc_uncorrected:1");
  EXPECT_EQ(run.document.findings[0].severity, "error");
}

TEST(import_machine_parts, rows_without_a_header_tell_only_what_tells_itself) {
  const Imported run = imported(
      "0, NVIDIA L4, GPU-11111111-2222-3333-4444-555555555555, 00000000:31:00.0, 23034 MiB, 5 %\n"
      "1, NVIDIA L4, GPU-11111111-2222-3333-4444-666666666666, 00000000:4B:00.0, 23034 MiB, 0 %\n");
  EXPECT_EQ(run.document.system["devices"].size(), 2u);
  EXPECT_EQ(run.document.system["devices"][1]["name"], "NVIDIA L4");
  EXPECT_EQ(run.document.system["devices"][1]["facts"]["pci_bus_id"], "0000:4b:00.0");
  EXPECT_FALSE(run.document.system["devices"][1].contains("memory_bytes")) << "total, used or free: nobody knows";
  EXPECT_THAT(remarks(run), HasSubstr("without its header"));
  EXPECT_EQ(run.files[0].not_understood, 0u);
}

TEST(import_machine_parts, a_row_of_dcgm_without_its_border_has_not_passed) {
  const Imported run = imported(
      "Successfully ran diagnostic for group.\n+---------+--------+\n| Diagnostic | Result |\n+=========+========+\n"
      "|-----  Deployment  ---+---|\n| software | Pass |\n|          | GPU0: Pass |\n+-----  Hardware  ---+---+\n| "
      "memory   "
      "| Pass");
  EXPECT_EQ(run.document.system["software"]["dcgm_diag"]["software"], "pass");
  EXPECT_FALSE(run.document.system["software"]["dcgm_diag"].contains("memory"));
  EXPECT_THAT(remarks(run), HasSubstr("the verdict is incomplete"));
}

}  // namespace
}  // namespace claimcheck
