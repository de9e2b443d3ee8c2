// nccl-tests and NCCL_DEBUG: every layout, and what the numbers cannot be.
#include "harness/evidence/transport.h"
#include "tests/unit/import_log_support.h"

namespace claimcheck {
namespace {

using namespace import_test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string parameters =
    "# nThread 1 nGpus 4 minBytes 1024 maxBytes 1048576 step: 1024(factor) warmup iters: 5 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0\n";

std::string devices(int count, const std::string& host = "alpha", const std::string& gpu = "NVIDIA H100 80GB HBM3") {
  std::string text = "#\n# Using devices\n";
  for (int i = 0; i < count; ++i)
    text += "#  Rank  " + std::to_string(i) + " Group  0 Pid  " + std::to_string(700 + i) + " on      " + host +
            " device  " + std::to_string(i) + " [0x1b] " + gpu + "\n";
  return text + "#\n";
}

const std::string header =
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
// 1048576 B in 10 us are 104.86 GB/s; of four ranks 1.5 times that.
const std::string rows =
    "        1024           256     float     sum      -1     8.00    0.13    0.19      0     8.10    0.13    0.19     "
    " 0\n"
    "     1048576        262144     float     sum      -1    10.00  104.86  157.29      0    10.50   99.86  149.80     "
    " 0\n";
const std::string trailer = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 76.8675\n#\n";

TEST(import_nccl, a_whole_run) {
  const Imported run = imported(parameters + devices(4) + header + rows + trailer);
  const Measurement* out = find(run, "allreduce/bytes:1048576", "allreduce.busbw.gbps");
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->value, 157.29);
  EXPECT_EQ(out->conditions["ranks"], 4);
  EXPECT_EQ(out->conditions["nodes"], 1);
  EXPECT_EQ(out->conditions["data_type"], "fp32");
  EXPECT_EQ(out->conditions["checked"], true);
  EXPECT_EQ(out->conditions["in_place"], false);
  EXPECT_EQ(find(run, "allreduce/bytes:1048576/in_place", "allreduce.busbw.gbps")->value, 149.80);
  EXPECT_NEAR(*find(run, "allreduce/bytes:1048576", "allreduce.algbw.gbps")->value, 104.8576, 1e-9);
  EXPECT_EQ(find(run, "allreduce/bytes:1024", "allreduce.latency.us")->value, 8.0);
  EXPECT_EQ(run.document.run["status"], "complete");
  EXPECT_EQ(run.files[0].not_understood, 0u);
  EXPECT_EQ(run.document.system["devices"].size(), 4u);
  EXPECT_EQ(run.document.system["devices"][3]["name"], "NVIDIA H100 80GB HBM3");
  EXPECT_THAT(run.document.findings, IsEmpty());
}

TEST(import_nccl, under_every_launcher) {
  for (const std::string prefix : {"0: ", "[1,0]<stdout>:", "   [1,0]<stdout>:", "gpu-node.7: "}) {
    std::string text;
    std::istringstream lines(devices(4) + header + rows + trailer);
    for (std::string line; std::getline(lines, line);) text += prefix + line + "\r\n";
    const Imported run = imported(text);
    ASSERT_NE(find(run, "allreduce/bytes:1048576", "allreduce.busbw.gbps"), nullptr) << prefix;
    EXPECT_EQ(find(run, "allreduce/bytes:1048576", "allreduce.busbw.gbps")->conditions["ranks"], 4) << prefix;
    EXPECT_EQ(run.files[0].not_understood, 0u) << prefix;
  }
}

TEST(import_nccl, ranks_from_the_factor_where_nobody_lists_them) {
  // 16 ranks: 2 x 15 / 16 = 1.875.
  const Imported run = imported(header +
                                "  2147483648     536870912     float     sum      -1    20000  107.37  201.33      0  "
                                "  20000  107.37  201.33      0\n");
  const Measurement* row = find(run, "allreduce/bytes:2147483648", "allreduce.busbw.gbps");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->conditions["ranks"], 16);
  EXPECT_FALSE(row->conditions.contains("nodes"));
  EXPECT_THAT(remarks(run), HasSubstr("16 ranks, inferred from busbw and time at 2 GiB"));
  EXPECT_THAT(remarks(run), HasSubstr("an excerpt"));
  EXPECT_EQ(run.document.run["status"], "partial");
}

TEST(import_nccl, a_claim_of_more_ranks_is_objected_to) {
  const Imported run = imported(header +
                                    "  2147483648     536870912     float     sum      -1    20000  107.37  187.90     "
                                    " 0    20000  107.37  187.90      0\n",
                                {.tool = "auto", .said = {.ranks = 16, .nodes = 2}, .command = {}});
  ASSERT_NE(finding(run, "import.ranks_claimed"), nullptr);
  EXPECT_THAT(finding(run, "import.ranks_claimed")->text,
              HasSubstr("16 ranks are said to have taken part, but the numbers are those of 8"));
}

TEST(import_nccl, devices_and_factor_must_agree) {
  const Imported run = imported(devices(8) + header + rows + trailer);
  ASSERT_NE(finding(run, "import.ranks"), nullptr);
  EXPECT_THAT(finding(run, "import.ranks")->text, HasSubstr("8 ranks, but busbw over algbw at 1 MiB is that of 4"));
}

TEST(import_nccl, two_runs_at_once_are_none_of_all) {
  const Imported run = imported(parameters + parameters + devices(2, "alpha") + devices(2, "beta") + header +
                                "   268435456      67108864     float     sum      -1    59000    4.55    4.55      0  "
                                "  59000    4.55    4.55      0\n");
  ASSERT_NE(finding(run, "import.separate_runs"), nullptr);
  EXPECT_THAT(finding(run, "import.separate_runs")->text, HasSubstr("2 separate runs"));
  for (const Measurement& measurement : run.document.measurements) {
    EXPECT_EQ(measurement.status, Outcome::failed);
    EXPECT_FALSE(measurement.value);
  }
}

TEST(import_nccl, wrong_values_have_no_speed) {
  const Imported run = imported(devices(4) + header +
                                "     1048576        262144     float     sum      -1    10.00  104.86  157.29 123456  "
                                "  10.50   99.86  149.80      0\n");
  const Measurement* row = find(run, "allreduce/bytes:1048576", "allreduce.busbw.gbps");
  EXPECT_EQ(row->status, Outcome::wrong_result);
  EXPECT_FALSE(row->value);
  EXPECT_EQ(row->reason, "123456 wrong values at 1 MiB");
}

TEST(import_nccl, rounding_errors_of_old_versions_are_none) {
  const Imported run = imported(
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "     1048576        262144   float     sum    10.00  104.86  157.29  1e-06    10.50   99.86  149.80  2e-07\n");
  EXPECT_EQ(find(run, "allreduce/bytes:1048576", "allreduce.busbw.gbps")->status, Outcome::ok);
}

TEST(import_nccl, unchecked_is_said) {
  const Imported run = imported(devices(4) + header +
                                "     1048576        262144     float     sum      -1    10.00  104.86  157.29    N/A  "
                                "  10.50   99.86  149.80    N/A\n" +
                                trailer);
  EXPECT_EQ(find(run, "allreduce/bytes:1048576", "allreduce.busbw.gbps")->conditions["checked"], false);
  EXPECT_THAT(remarks(run), HasSubstr("results were not checked"));
}

TEST(import_nccl, one_rank_is_nothing_to_judge) {
  const Imported run = imported(devices(1) + header +
                                "    33554432       8388608     float    none      -1    20.00 1677.72    0.00      0  "
                                "   0.05  671088.64    0.00      0\n" +
                                trailer);
  for (const Measurement& measurement : run.document.measurements) EXPECT_EQ(measurement.status, Outcome::unsupported);
  EXPECT_THAT(remarks(run), HasSubstr("nothing to judge"));
}

TEST(import_nccl, a_column_of_nodes_in_front) {
  const Imported run =
      imported(header +
               "1 1073741824 268435456 float sum -1 8000 134.22 234.88 2e-07 8000 134.22 234.88 2e-07\n"
               "2 1073741824 268435456 float sum -1 35000 30.68 57.52 5e-07 35000 30.68 57.52 5e-07\n");
  const Measurement* two = find(run, "allreduce/bytes:1073741824/nodes:2", "allreduce.busbw.gbps");
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(two->value, 57.52);
  EXPECT_EQ(two->conditions["nodes"], 2);
  EXPECT_EQ(two->conditions["ranks"], 16);
}

TEST(import_nccl, a_column_of_nodes_under_a_heading_of_its_own) {
  const Imported run = imported(
      " box   size count type redop time algbw busbw error time algbw busbw error\n"
      "1 1073741824 268435456 float sum 8000 134.22 234.88 2e-07 8000 134.22 234.88 2e-07\n"
      "4 1073741824 268435456 float sum 70000 15.34 29.72 5e-07 70000 15.34 29.72 5e-07\n");
  const Measurement* one = find(run, "allreduce/bytes:1073741824/nodes:1", "allreduce.busbw.gbps");
  const Measurement* four = find(run, "allreduce/bytes:1073741824/nodes:4", "allreduce.busbw.gbps");
  ASSERT_NE(one, nullptr);
  ASSERT_NE(four, nullptr);
  EXPECT_EQ(one->value, 234.88);
  EXPECT_EQ(one->conditions["ranks"], 8);
  EXPECT_EQ(four->value, 29.72);
  EXPECT_EQ(four->conditions["ranks"], 32);
  EXPECT_THAT(remarks(run), HasSubstr("taken for the number of nodes"));
}

TEST(import_nccl, two_decimals_of_a_small_figure_name_no_collective) {
  // 4096 B in 31 us are 0.132 GB/s, printed 0.13: the factor is 0.98, and it may be 1.
  const Imported run =
      imported(devices(2) + header +
               "        4096          1024     float     sum      -1    31.00    0.13    0.13      0    "
               "31.00    0.13    0.13    N/A\n");
  EXPECT_NE(find(run, "collective/bytes:4096", "collective.busbw.gbps"), nullptr);
  EXPECT_EQ(find(run, "reducescatter/bytes:4096", "reducescatter.busbw.gbps"), nullptr);
  EXPECT_EQ(find(run, "collective/bytes:4096/in_place", "collective.busbw.gbps")->conditions["checked"], false);
}

TEST(import_nccl, without_reduction_in_an_old_layout) {
  // algbw holds the factor already there: 134217728 B in 3300 us are 40.67 GB/s, busbw is half of it: two ranks.
  const Imported run = imported(
      "   134217728      16777216   float   3300.0   20.34   20.34  0e+00   3070.0   21.86   21.86  0e+00\n# Avg bus "
      "bandwidth    : 21.1\n");
  const Measurement* row = find(run, "collective/bytes:134217728", "collective.busbw.gbps");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->value, 20.34);
  EXPECT_EQ(row->conditions["ranks"], 2);
  EXPECT_THAT(remarks(run), HasSubstr("all-gather, reduce-scatter or all-to-all"));
}

TEST(import_nccl, edited_by_hand) {
  const Imported run = imported(
      "           size    time   algbw   busbw\n            (B)    (us)  (GB/s)  (GB/s)\n  1_073_741_824  8_000.0  "
      "134.22  234.88\n");
  const Measurement* row = find(run, "allreduce/bytes:1073741824", "allreduce.busbw.gbps");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->value, 234.88);
  EXPECT_EQ(row->conditions["in_place"], "unknown");
  EXPECT_EQ(row->conditions["ranks"], 8);
  EXPECT_THAT(remarks(run), HasSubstr("somebody edited the table"));
}

TEST(import_nccl, rows_cut_out_and_the_average) {
  const Imported run = imported(devices(4) + header + "...\n" +
                                "     1048576        262144     float     sum      -1    10.00  104.86  157.29      0  "
                                "  10.50   99.86  149.80      0\n" +
                                trailer);
  EXPECT_THAT(remarks(run), HasSubstr("rows were cut out"));
  EXPECT_THAT(remarks(run), HasSubstr("the printed average is 76.9, that of the rows here 154"));
}

TEST(import_nccl, a_header_without_rows_hung) {
  const Imported run = imported(parameters + devices(4) + header);
  ASSERT_NE(finding(run, "import.hang"), nullptr);
  const Imported stopped = imported(parameters + devices(4) + header +
                                    "        1024           256     float     sum      -1     8.00    0.13    0.19     "
                                    " 0     8.10    0.13    0.19      0\n");
  EXPECT_THAT(remarks(stopped), HasSubstr("the log ends at 1 KiB of 1 MiB"));
}

TEST(import_nccl, cuda_errors_name_their_cause) {
  const Imported run = imported(
      "# Using devices\nalpha: Test CUDA failure common.cu:1000 'system not yet initialized'\n .. alpha pid 1: Test "
      "failure common.cu:900\n");
  ASSERT_NE(finding(run, "cuda.802"), nullptr);
  EXPECT_THAT(finding(run, "cuda.802")->text, HasSubstr("Fabric Manager"));
  EXPECT_EQ(finding(run, "import.hang"), nullptr);
}

TEST(import_nccl, different_gpus_are_said) {
  std::string mixed = devices(2);
  mixed += "#  Rank  2 Group  0 Pid  1 on beta device  0 [0x1b] NVIDIA A100-SXM4-80GB\n";
  const Imported run = imported(mixed + header);
  ASSERT_NE(finding(run, "import.heterogeneous"), nullptr);
  EXPECT_THAT(finding(run, "import.heterogeneous")->text,
              HasSubstr("1 x NVIDIA A100-SXM4-80GB and 2 x NVIDIA H100 80GB HBM3"));
}

TEST(import_nccl, lines_of_nobody_are_listed) {
  const Imported run = imported(devices(4) + header + rows + "what is this\n" + trailer + "and this\n");
  EXPECT_EQ(run.files[0].not_understood, 2u);
  EXPECT_EQ(run.files[0].texts, (std::vector<std::string>{"what is this", "and this"}));
}

TEST(import_nccl, the_same_sizes_again_are_samples) {
  std::string more = rows;
  more.replace(more.find("157.29"), 6, "160.00");
  const Imported run =
      imported(parameters + devices(4) + header + rows + trailer + parameters + devices(4) + header + more + trailer);
  const Measurement* row = find(run, "allreduce/bytes:1048576", "allreduce.busbw.gbps");
  EXPECT_EQ(row->statistics->samples, (std::vector<double>{157.29, 160.0}));
  EXPECT_EQ(finding(run, "import.separate_runs"), nullptr);
}

TEST(import_nccl, debug_lines_are_evidence) {
  const Imported run =
      imported(devices(4) +
               "NCCL version 2.99.1+cuda13.0\n"
               "alpha:1:2 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)\n"
               "alpha:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
               "alpha:1:2 [0] NCCL INFO Channel 01/0 : 1[1] -> 2[0] [send] via NET/AWS Libfabric/0/GDRDMA\n"
               "alpha:1:2 [0] NCCL INFO Channel 02/0 : 1[1] -> 2[0] [send] via NET/AWS Libfabric/1/GDRDMA\n" +
               header + rows + trailer);
  const Measurement* row = find(run, "allreduce/bytes:1048576", "allreduce.busbw.gbps");
  ASSERT_TRUE(row->evidence.contains("group"));
  EXPECT_EQ(row->evidence["group"]["transport"], "NET/AWS Libfabric/GDRDMA,P2P/CUMEM");
  EXPECT_EQ(row->evidence["group"]["network_provider"], "efa");
  EXPECT_EQ(row->evidence["group"]["gpu_direct_rdma"], true);
  EXPECT_EQ(run.document.system["software"]["nccl"], "2.99.1");
}

TEST(import_nccl, the_plug_in_over_tcp_is_no_efa) {
  const Imported run = imported(devices(2) + "alpha:1:2 [0] NCCL INFO NET/OFI Selected Provider is tcp;ofi_rxm\n");
  ASSERT_NE(finding(run, "import.provider"), nullptr);
  EXPECT_THAT(finding(run, "import.provider")->next_step, HasSubstr("FI_PROVIDER=efa"));
}

TEST(import_nccl, two_ranks_on_one_gpu_are_told_by_their_cause) {
  const Imported run = imported(
      "NCCL version 2.19.3+cuda12.3\n"
      "box:10:20 [0] init.cc:900 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 3b000\n");
  ASSERT_NE(finding(run, "import.nccl_warn"), nullptr);
  EXPECT_EQ(finding(run, "import.nccl_warn")->severity, "error");
  EXPECT_THAT(finding(run, "import.nccl_warn")->text, HasSubstr("two MIG instances of one card"));
}

TEST(import_nccl, cut_anywhere) { survives_truncation(parameters + devices(4) + header + rows + trailer); }

}  // namespace
}  // namespace claimcheck
