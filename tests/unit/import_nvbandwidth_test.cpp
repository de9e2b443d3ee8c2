// nvbandwidth: text and JSON, what was waived, what was wrong.
#include "tests/unit/import_log_support.h"

namespace claimcheck {
namespace {

using namespace import_test;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string heading =
    "nvbandwidth Version: v0.6\nBuilt from Git version: v0.6\n\nCUDA Runtime Version: 12040\nCUDA Driver Version: "
    "12040\nDriver Version: 550.1\n\n"
    "Device 0: NVIDIA A100-SXM4-80GB (00000000:10:00)\nDevice 1: NVIDIA A100-SXM4-80GB (00000000:11:00)\n\n";
const std::string h2d =
    "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0 "
    "    24.50     24.90\n\n"
    "SUM host_to_device_memcpy_ce 49.40\n\n";

TEST(import_nvbandwidth, text) {
  const Imported run =
      imported(heading + h2d +
               "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n         "
               "  0         1\n"
               " 0       N/A    255.10\n 1    250.20       N/A\n\nSUM device_to_device_memcpy_read_ce 505.30\n\n"
               "Running device_local_copy.\nmemcpy local GPU(column) bandwidth (GB/s)\n           0         1\n 0    "
               "650.00    655.00\n\nSUM device_local_copy 1305.00\n");
  const Measurement* link = find(run, "host_link.h2d", "host_link.h2d.gbps");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->value, 24.5);
  EXPECT_EQ(link->devices[1].value, 24.9);
  const Measurement* pairs = find(run, "p2p.read", "p2p.read.gbps");
  EXPECT_EQ(pairs->value, 250.2);
  EXPECT_EQ(pairs->evidence["matrix_gbps"], (json{{nullptr, 255.1}, {250.2, nullptr}}));
  EXPECT_EQ(find(run, "memory.copy", "memory.copy.gbps")->value, 1300);
  EXPECT_THAT(remarks(run), HasSubstr("counts the payload once"));
  EXPECT_EQ(run.document.system["nvidia_driver"], "550.1");
  EXPECT_EQ(run.files[0].not_understood, 0u);
  EXPECT_THAT(run.document.findings, IsEmpty());
}

TEST(import_nvbandwidth, waived_is_not_passed) {
  const Imported run = imported(heading + "Waived:\nWaived:\n" + h2d + "Waiving device_to_device_memcpy_write_ce.\n");
  EXPECT_EQ(find(run, "host_link.h2d", "host_link.h2d.gbps")->status, Outcome::ok) << "the nameless lines are not its";
  EXPECT_EQ(find(run, "p2p.write", "p2p.write.gbps")->status, Outcome::unsupported);
  ASSERT_NE(finding(run, "import.no_peer_access"), nullptr);
}

TEST(import_nvbandwidth, wrong_data_are_worse_than_slow) {
  const Imported run = imported(heading +
                                "Running device_to_device_memcpy_read_ce.\n Invalid value when checking the pattern at "
                                "0x7f00\n Current offset : 12\n"
                                "ASSERT in expression h_errorFlag == 0 in void f() : memcpy.cpp:1\n");
  EXPECT_EQ(find(run, "p2p.read", "p2p.read.gbps")->status, Outcome::wrong_result);
  ASSERT_NE(finding(run, "import.data_mismatch"), nullptr);
}

TEST(import_nvbandwidth, a_matrix_that_fits_no_machine) {
  const Imported run = imported(heading +
                                "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth "
                                "(GB/s)\n 0 1 2\n 0 24.5 24.9 25.0\n 1 1 1 1\n\n"
                                "SUM host_to_device_memcpy_ce 74.4\n");
  EXPECT_THAT(finding(run, "import.shape")->text, HasSubstr("2 x 3, but the output lists 2 devices"));
  EXPECT_THAT(finding(run, "import.sum")->text, HasSubstr("SUM says 74.4, but the cells add up to 77.4"));
}

TEST(import_nvbandwidth, json_after_text) {
  const json document = {
      {"nvbandwidth",
       {{"version", "v0.8"},
        {"GPU Device list", {"0: NVIDIA L4-3Q (00000000:31:00): (alpha)"}},
        {"error", "ASSERT in expression h_errorFlag == 0 in void f() : memcpy.cpp:1"},
        {"warning", "NOTE: You have chosen a buffer size that is smaller than the default"},
        {"testcases",
         {{{"name", "host_to_device_memcpy_ce"}, {"status", "Passed"}, {"bandwidth_matrix", {{"6.25"}}}, {"sum", 6.25}},
          {{"name", "device_to_device_memcpy_read_ce"}, {"status", "Waived"}}}}}}};
  const Imported run = imported(" Invalid value when checking the pattern at 0x1\n" + document.dump(2) + "\n");
  EXPECT_EQ(find(run, "host_link.h2d", "host_link.h2d.gbps")->value, 6.25);
  EXPECT_EQ(find(run, "p2p.read", "p2p.read.gbps")->status, Outcome::unsupported);
  EXPECT_NE(finding(run, "import.data_mismatch"), nullptr);
  EXPECT_EQ(finding(run, "import.no_peer_access"), nullptr) << "one device has no peer";
  EXPECT_NE(finding(run, "import.vgpu"), nullptr);
  EXPECT_NE(finding(run, "import.small_buffer"), nullptr);
  EXPECT_EQ(run.document.run["status"], "partial");
}

TEST(import_nvbandwidth, json_of_a_machine_that_does_not_start) {
  const Imported run = imported(
      "{\n\"nvbandwidth\" : {\"error\": \"[CUDA_ERROR_SYSTEM_NOT_READY] system not yet initialized in expression "
      "cuInit(0)\", \"version\": \"v0.8\"}\n}\n");
  ASSERT_NE(finding(run, "cuda.802"), nullptr);
  EXPECT_THAT(run.document.measurements, IsEmpty());
}

TEST(import_nvbandwidth, members_of_any_type_cost_no_more_than_themselves) {
  const json good = {{"nvbandwidth",
                      {{"version", "v0.8"},
                       {"Driver Version", "590.1"},
                       {"GPU Device list", {"0: NVIDIA L4 (00000000:31:00)"}},
                       {"testcases",
                        {{{"name", "host_to_device_memcpy_ce"},
                          {"status", "Passed"},
                          {"bandwidth_matrix", {{"6.25"}}},
                          {"sum", 6.25}}}}}}};
  std::size_t tried = 0;
  const json leaves = good.flatten();
  for (const auto& [pointer, leaf] : leaves.items()) {
    for (const json& odd : {json(), json(7), json("x"), json::array({1}), json::object({{"a", 1}}), json(true)}) {
      json changed = good;
      changed[json::json_pointer(pointer)] = odd;
      // The list of tests keeps the document recognisable whatever stands in one of its members.
      EXPECT_NO_THROW(imported(changed.dump(1) + "\nnvbandwidth Version: v0.8\n")) << pointer << " " << odd;
      ++tried;
    }
  }
  EXPECT_EQ(tried, leaves.size() * 6);
  EXPECT_GE(leaves.size(), 7u);
}

TEST(import_nvbandwidth, peers_in_groups) {
  json cells = json::array();
  for (int row = 0; row < 4; ++row) {
    json line = json::array();
    for (int column = 0; column < 4; ++column) line.push_back(row != column && row / 2 == column / 2 ? "269.0" : "N/A");
    cells.push_back(line);
  }
  const json document = {
      {"nvbandwidth",
       {{"testcases",
         {{{"name", "device_to_device_memcpy_read_ce"}, {"status", "Passed"}, {"bandwidth_matrix", cells}}}}}}};
  const Imported run = imported(document.dump(1) + "\n");
  EXPECT_THAT(finding(run, "import.partial_peer_access")->text,
              HasSubstr("Only 4 of 12 ordered pairs of GPUs reach each other's memory, in the groups {0, 1}, {2, 3}"));
}

TEST(import_nvbandwidth, cut_anywhere) { survives_truncation(heading + h2d + "Waived:\n" + h2d); }

}  // namespace
}  // namespace claimcheck
