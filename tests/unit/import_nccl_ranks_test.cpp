// How many ranks the printed digits of nccl-tests allow, and what is said where they allow several.
#include "harness/import/nccl_ranks.h"
#include "tests/unit/import_log_support.h"

namespace claimcheck {
namespace {

using namespace import_test;
using importing::fit_ranks;
using importing::NcclFactor;
using testing::HasSubstr;
using testing::Not;

constexpr double gib = 1 << 30;

// Of n ranks at 100 GB/s of algorithm bandwidth, as the tool rounds it.
std::optional<importing::RanksFit> fitted(NcclFactor factor, int n) {
  const double time_us = std::round(gib / 100e3 * 10) / 10;  // 10737.4, printed as 10737
  const double algbw = gib / time_us / 1e3;
  const double of_n = (factor == NcclFactor::both_ways ? 2.0 : 1.0) * (n - 1) / n;
  return fit_ranks(factor, gib, std::round(time_us), std::round(algbw * of_n * 100) / 100);
}

TEST(import_nccl_ranks, few_ranks_are_one_number) {
  for (const int n : {2, 3, 4, 7, 8, 16, 24, 32, 72}) {
    EXPECT_EQ(fitted(NcclFactor::both_ways, n)->ranks, n);
    EXPECT_EQ(fitted(NcclFactor::one_way, n)->ranks, n);
  }
  EXPECT_FALSE(fitted(NcclFactor::none, 8));
}

TEST(import_nccl_ranks, many_ranks_are_a_range) {
  const auto fit = fitted(NcclFactor::both_ways, 1024);
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->ranks);
  EXPECT_TRUE(fit->fits(1024));
  EXPECT_FALSE(fit->fits(8));
  EXPECT_FALSE(fit->fits(512));
}

// 128 KiB in 118.5 us are 1.10609 GB/s. 2.19 is 1.97995 times that; half a digit of both (0.005 of 2.19, 0.05 of 118.5)
// is 0.00536 of it: n = 2 / (2 - f) lies between 2 / 0.02541 = 78.7 and 2 / 0.01469 = 136.1.
const std::string old_header =
    "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
    "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string small =
    "      131072         32768     float     sum    118.5    1.11    2.19  1e-06    118.9    1.10    2.18  1e-06\n";

TEST(import_nccl_ranks, too_few_digits_are_said) {
  const Imported run = imported(old_header + small);
  const Measurement* row = find(run, "allreduce/bytes:131072", "allreduce.busbw.gbps");
  ASSERT_NE(row, nullptr);
  EXPECT_FALSE(row->conditions.contains("ranks"));
  EXPECT_THAT(remarks(run), HasSubstr("busbw and time at 128 KiB fit 79 to 136: too few digits to tell"));
  EXPECT_THAT(remarks(run), HasSubstr("the largest size is 128 KiB: too small to say anything about bandwidth"));
}

TEST(import_nccl_ranks, what_is_said_counts_where_it_fits) {
  ImportOptions options;
  options.said.ranks = 96;
  const Imported fits = imported(old_header + small, options);
  EXPECT_EQ(find(fits, "allreduce/bytes:131072", "allreduce.busbw.gbps")->conditions["ranks"], 96);
  EXPECT_EQ(finding(fits, "import.ranks_claimed"), nullptr);
  options.said.ranks = 16;
  const Imported refuted = imported(old_header + small, options);
  ASSERT_NE(finding(refuted, "import.ranks_claimed"), nullptr);
  EXPECT_THAT(finding(refuted, "import.ranks_claimed")->text, HasSubstr("the numbers are those of 79 to 136"));
}

TEST(import_nccl_ranks, one_half_checked_is_said) {
  const Imported run = imported(
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "     1048576        262144     float     sum      -1    100.0   10.49   10.49      0    101.0   10.38   10.38   "
      " "
      "N/A\n");
  EXPECT_EQ(find(run, "collective/bytes:1048576", "collective.busbw.gbps")->conditions["checked"], true);
  EXPECT_EQ(find(run, "collective/bytes:1048576/in_place", "collective.busbw.gbps")->conditions["checked"], false);
  EXPECT_THAT(remarks(run), HasSubstr("results out of place were checked, those in place were not"));
  EXPECT_THAT(remarks(run), Not(HasSubstr("0 OK")));
}

// NCCL 1: one size, one row an operation, milliseconds.
TEST(import_nccl_ranks, one_size_of_every_operation_judges_nothing) {
  const Imported run = imported(
      "~$ ./build/test/single/all_reduce_test 64# Using devices\n"
      "#   Rank  0 uses device  0 [0x04] GeForce GTX 980\n#   Rank  1 uses device  1 [0x05] GeForce GTX 980\n\n"
      "#                                                 out-of-place                    in-place\n"
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
      "          64            64    char     sum    0.031   0.00   0.00    0e+00    0.040   0.00   0.00    0e+00\n"
      "          64            64    char    prod    0.030   0.00   0.00    0e+00    0.041   0.00   0.00    0e+00\n"
      "          64            16     int     sum    0.033   0.00   0.00    0e+00    0.042   0.00   0.00    0e+00\n");
  for (const Measurement& one : run.document.measurements) EXPECT_THAT(one.metric, Not(HasSubstr("busbw")));
  EXPECT_EQ(run.document.system["devices"].size(), 2u);
  EXPECT_THAT(remarks(run), HasSubstr("the largest size is 64 B: too small to say anything about bandwidth"));
  EXPECT_EQ(run.files[0].not_understood, 0u);
}

TEST(import_nccl_ranks, a_rack_whose_last_device_alone_is_listed) {
  // 8 GiB in 20000 us are 429.50 GB/s; 72 ranks make it 847.06.
  const Imported run = imported(
      "#  Rank 71 Group  0 Pid  4242 on   rack-18 device  3 [0019:01:00] NVIDIA Graphics Device\n#\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "  8589934592    2147483648     float     sum      -1    20000  429.50  847.06      0    20100  427.36  842.85   "
      "  "
      " 0\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 844.955\n");
  EXPECT_EQ(find(run, "allreduce/bytes:8589934592", "allreduce.busbw.gbps")->conditions["ranks"], 72);
  EXPECT_FALSE(find(run, "allreduce/bytes:8589934592", "allreduce.busbw.gbps")->conditions.contains("nodes"));
  EXPECT_THAT(remarks(run), HasSubstr("72 ranks, inferred from busbw and time at 8 GiB; the log names rank 71"));
  EXPECT_THAT(remarks(run), HasSubstr("\"NVIDIA Graphics Device\" is no product"));
}

TEST(import_nccl_ranks, layout_of_2_20) {
  const Imported run = imported(
      "# nccl-tests version 2.20.0 (abc1234) nccl-headers=22902 nccl-library=23102\n"
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 4096 maxBytes 4194304 step: 4(factor) warmup iters: 1 iters: 20 agg iters: 1 "
      "validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n"
      "#  Rank  0 Group  0 Pid   3001 on    spark-1 device  0 [000f:01:00] NVIDIA GB10\n"
      "#  Rank  1 Group  0 Pid   3002 on    spark-2 device  0 [000f:01:00] NVIDIA GB10\n#\n"
      "#                                                              out-of-place                         in-place    "
      " "
      "     \n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
      "#wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)  "
      "   "
      "    \n"
      "        4096          1024     float     sum      -1    40.00    0.10    0.10       0    41.00    0.10    0.10  "
      "     "
      "0\n");
  EXPECT_EQ(find(run, "allreduce/bytes:4096", "allreduce.busbw.gbps")->value, 0.10);
  EXPECT_EQ(find(run, "allreduce/bytes:4096", "allreduce.busbw.gbps")->conditions["nodes"], 2);
  EXPECT_EQ(run.document.system["software"]["nccl"], "2.31.2");
  EXPECT_EQ(run.files[0].not_understood, 0u);
  EXPECT_THAT(remarks(run), HasSubstr("the log ends at 4 KiB of 4 MiB"));
}

TEST(import_nccl_ranks, a_list_without_rows_says_what_it_lists) {
  const Imported run = imported(
      "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n#\n"
      "# Using devices\n#   Rank  0 Pid   11 on one device  0 [0x10] A100-SXM4-40GB\n"
      "#   Rank  1 Pid   12 on one device  1 [0x10] A100-SXM4-40GB\n"
      "#   Rank  2 Pid   21 on two device  0 [0x10] A100-SXM4-40GB\n"
      "#   Rank  3 Pid   22 on two device  1 [0x10] A100-SXM4-40GB\n"
      "two:21:30 [0] NCCL INFO Channel 01 : 2[101d0] -> 0[101c0] [send] via NET/AWS Libfabric/0\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "one:11:11 [0] NCCL INFO Launch mode Parallel\n");
  EXPECT_THAT(remarks(run), HasSubstr("the device list names 4 ranks on 2 nodes"));
  EXPECT_THAT(remarks(run), HasSubstr("NCCL sends over NET/AWS Libfabric"));
  EXPECT_EQ(finding(run, "import.separate_runs"), nullptr) << "equal bus ids are a limit of the display";
}

TEST(import_nccl_ranks, error_803_is_two_libraries) {
  const Imported run = imported(
      "a: Test CUDA failure common.cu:941 'system has unsupported display driver / cuda driver combination'\n");
  ASSERT_NE(finding(run, "cuda.803"), nullptr);
  EXPECT_EQ(finding(run, "cuda.803")->severity, "error");
  EXPECT_THAT(finding(run, "cuda.803")->next_step, HasSubstr("compat"));
}

TEST(import_nccl_ranks, rccl_says_its_versions_in_its_own_way) {
  const Imported run = imported(
      "# Collective test starting: all_gather_perf\n"
      "# nThread 1 nGpus 2 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
      "validation: 1 graph: 0\n#\n"
      "rccl-tests: Version develop:0a1b2c3\n# Using devices\n"
      "#  Rank  0 Group  0 Pid    811 on    amd-1 device  0 [0000:05:00] AMD Instinct MI300X\n"
      "#  Rank  1 Group  0 Pid    811 on    amd-1 device  1 [0000:29:00] \n"
      "RCCL version : 2.22.3-develop:1234567\nHIP version  : 6.4.43483-a187df25c\nROCm version : 6.4.1.0-83\n"
      "Hostname     : amd-1\nLibrccl path : /opt/rocm/lib/librccl.so.1\n#\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "     1048576        131072     float    none      -1    50.00   20.97   10.49      0    50.00   20.97   10.49   "
      "  "
      " 0\n"
      "# Errors with asterisks indicate errors that have exceeded the maximum threshold.\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 10.49\n#\n"
      "# Collective test concluded: all_gather_perf\n");
  const Measurement* row = find(run, "allgather/bytes:1048576", "allgather.busbw.gbps");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->value, 10.49);
  EXPECT_EQ(run.document.system["software"]["rccl-tests"], "develop:0a1b2c3");
  EXPECT_EQ(run.document.system["software"]["rccl"], "2.22.3-develop:1234567");
  EXPECT_EQ(run.document.system["software"]["rocm"], "6.4.1.0-83");
  EXPECT_EQ(run.files[0].not_understood, 0u);
  EXPECT_EQ(run.document.run["status"], "complete");
}

}  // namespace
}  // namespace claimcheck
