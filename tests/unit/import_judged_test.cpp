// Logs of other tools judged against the shipped catalog: what a log does not say must cost no verdict that its figures
// allow, and must give none that they do not.
#include "harness/judge/claim.h"
#include "harness/judge/judge.h"
#include "tests/unit/import_log_support.h"

namespace claimcheck {
namespace {

using namespace import_test;
using testing::HasSubstr;

const Catalog& catalog() {
  static const Catalog loaded = load_catalog();
  return loaded;
}

std::vector<Verdict> verdicts(const Imported& run, const std::string& instance, const std::string& claim = "") {
  Document document = run.document;
  if (const Platform* platform = catalog().find_platform(instance)) {
    document.platform["instance"] = platform->instance;
    document.platform["provider"] = platform->provider;
    document.platform["catalog_id"] = platform->id;
  }
  std::vector<Claim> claims;
  if (!claim.empty()) claims = parse_claims({claim});
  for (Claim& one : claims) one.id = "user:1";
  return all_verdicts(document, claims, catalog());
}

// The verdict on a metric: on a claim, or against what is typical.
Verdict on(const std::vector<Verdict>& list, const std::string& metric, const std::string& comparison = "claim") {
  for (const Verdict& verdict : list)
    if (verdict.claim.metric == metric && verdict.claim.definition.value("comparison", "") == comparison)
      return verdict;
  ADD_FAILURE() << "no verdict on " << metric;
  return {};
}

std::string nvbandwidth(int devices, const std::string& name, const std::string& tests) {
  std::string text = "nvbandwidth Version: v0.8\n\n";
  for (int i = 0; i < devices; ++i) text += fmt::format("Device {}: {} (00000000:{:02x}:00)\n", i, name, 16 + i);
  return text + "\n" + tests;
}

std::string host_link(int devices, double gbps) {
  std::string heads, cells;
  for (int i = 0; i < devices; ++i) {
    heads += fmt::format("  {:8}", i);
    cells += fmt::format("  {:8.2f}", gbps);
  }
  return fmt::format(
      "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n {}\n 0{}\n\nSUM "
      "host_to_device_memcpy_ce {:.2f}\n",
      heads, cells, gbps * devices);
}

TEST(import_judged, half_the_host_link_of_all_gpus_is_no_bad_card) {
  const auto list =
      verdicts(imported(nvbandwidth(8, "NVIDIA A100-SXM4-40GB", host_link(8, 12.1))), "gcp:a2-highgpu-8g");
  const Verdict link = on(list, "host_link.h2d.gbps");
  EXPECT_EQ(link.kind, VerdictKind::not_met);
  ASSERT_FALSE(link.diagnosis.empty());
  EXPECT_THAT(link.diagnosis[0], HasSubstr("All 8 GPUs agree"));
  EXPECT_THAT(link.diagnosis[0], HasSubstr("PCIe 3.0 x16 or 4.0 x8"));
  EXPECT_EQ(on(verdicts(imported(nvbandwidth(8, "NVIDIA A100-SXM4-40GB", host_link(8, 26.0))), "gcp:a2-highgpu-8g"),
               "host_link.h2d.gbps")
                .kind,
            VerdictKind::met);
}

// 2090 of payload are 4180 of traffic, 87 % of 4800: what healthy H200s copy at.
TEST(import_judged, a_copy_is_held_to_what_copies_reach) {
  const auto list =
      verdicts(imported(nvbandwidth(1, "NVIDIA H200",
                                    "Running device_local_copy.\nmemcpy local GPU(column) bandwidth (GB/s)\n   "
                                    "        0\n 0   2090.00\n\nSUM device_local_copy 2090.00\n")),
               "gcp:a3-ultragpu-8g");
  const Verdict memory = on(list, "memory.read.gbps");
  EXPECT_EQ(memory.attained, 4180);
  EXPECT_THAT(memory.reason, HasSubstr("87.1 % of the claimed 4800 GB/s"));
  EXPECT_NE(memory.kind, VerdictKind::not_met) << memory.reason;
}

// 13.5 of payload are 27 GB/s of 300, 9 %; 3 of 24 GB are an eighth, whose share of 300 is 37.5.
TEST(import_judged, a_slice_is_told_its_share) {
  const Imported run = imported(nvbandwidth(1, "NVIDIA L4-3Q",
                                            "Running device_local_copy.\nmemcpy local GPU(column) bandwidth (GB/s)\n  "
                                            "         0\n 0     13.50\n\nSUM device_local_copy 13.50\n"));
  const Verdict memory = on(verdicts(run, "", "memory.copy.gbps>=300"), "memory.copy.gbps");
  EXPECT_EQ(memory.kind, VerdictKind::not_met);
  EXPECT_THAT(memory.reason, HasSubstr("9.0 % of the claimed 300 GB/s"));
  EXPECT_THAT(memory.diagnosis, testing::Contains(testing::AllOf(HasSubstr("3 of the 24 GB"), HasSubstr("37.5 GB/s"),
                                                                 HasSubstr("72.0 %"))));
}

// 3700 of payload are 7400 GB/s, 92.5 % of 8 TB/s: more than what cards keep up of a data sheet's peak.
TEST(import_judged, a_peak_of_a_card_without_a_name_is_held_to_what_others_sustain) {
  const Imported run = imported(nvbandwidth(
      1, "NVIDIA Graphics Device",
      "Running device_local_copy.\nmemcpy local GPU(column) bandwidth (GB/s)\n           0\n 0   3700.00\n\nSUM "
      "device_local_copy 3700.00\n"));
  const Verdict peak = on(verdicts(run, "", "memory.copy.gbps[peak=yes]>=8 TB/s"), "memory.copy.gbps");
  EXPECT_EQ(peak.kind, VerdictKind::met) << peak.reason;
  EXPECT_THAT(peak.reason, HasSubstr("92.5 % of the claimed 8000 GB/s"));
  EXPECT_EQ(on(verdicts(run, "", "memory.copy.gbps>=8 TB/s"), "memory.copy.gbps").kind, VerdictKind::not_met)
      << "to the letter";
}

TEST(import_judged, waived_for_want_of_peer_access_is_a_miss) {
  const Imported run = imported(nvbandwidth(2, "NVIDIA GeForce RTX 3090", "Waived: device_to_device_memcpy_read_ce\n"));
  const Verdict peer = on(verdicts(run, "", "p2p.read.gbps>=50"), "p2p.read.gbps");
  EXPECT_EQ(peer.kind, VerdictKind::not_met);
  EXPECT_THAT(peer.reason, HasSubstr("no GPU reaches another's memory"));
  const Imported one = imported(nvbandwidth(1, "NVIDIA GeForce RTX 3090", "Waived: device_to_device_memcpy_read_ce\n"));
  EXPECT_EQ(on(verdicts(one, "", "p2p.read.gbps>=50"), "p2p.read.gbps").kind, VerdictKind::not_measured)
      << "one GPU has no peer";
}

TEST(import_judged, no_links_contradict_a_claim_of_links) {
  const Imported run =
      imported("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPHB\t0-9\tN/A\nGPU1\tPHB\t X \t0-9\tN/A\n");
  const Verdict links = on(verdicts(run, "", "identity.interconnect_gbps>=600"), "identity.interconnect_gbps");
  EXPECT_EQ(links.kind, VerdictKind::contradicted);
  EXPECT_THAT(links.reason, HasSubstr("no active NVLink"));
}

std::string all_reduce(double bytes, double time_us, double busbw) {
  return fmt::format(
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n  {:.0f}  {:.0f}  float  sum  -1  {:.0f}  {:.2f}  {:.2f}  0  {:.0f}  {:.2f}  {:.2f}  0\n",
      bytes, bytes / 4, time_us, bytes / time_us / 1e3, busbw, time_us, bytes / time_us / 1e3, busbw);
}

// 8 ranks: 2 GiB in 16200 us are 132.56 GB/s, x 1.75.
TEST(import_judged, a_node_without_a_device_list_is_held_to_what_is_typical) {
  const Imported run = imported(all_reduce(2147483648.0, 16200, 231.98));
  const Verdict typical = on(verdicts(run, "aws:p4d.24xlarge"), "allreduce.busbw.gbps", "typical");
  EXPECT_EQ(typical.kind, VerdictKind::met);
  EXPECT_EQ(typical.attained, 231.98);
  const Imported slow = imported(all_reduce(2147483648.0, 32400, 115.99));
  EXPECT_EQ(on(verdicts(slow, "aws:p4d.24xlarge"), "allreduce.busbw.gbps", "typical").kind, VerdictKind::not_met);
}

// 16 ranks: 2 GiB in 51400 us are 41.78 GB/s, x 1.875.
TEST(import_judged, two_nodes_are_held_to_two_nodes) {
  ImportOptions options;
  options.said.nodes = 2;
  const Imported run = imported(all_reduce(2147483648.0, 51400, 78.34), options);
  const auto list = verdicts(run, "aws:p4de.24xlarge");
  EXPECT_EQ(on(list, "allreduce.busbw.gbps", "typical").kind, VerdictKind::met);
  EXPECT_THAT(on(list, "transport.network").reason, HasSubstr("does not say what NCCL used between the nodes"));
}

// Two ranks on a machine of eight GPUs say nothing of the other six.
TEST(import_judged, who_took_part_is_not_what_is_there) {
  std::string list = "# Using devices\n";
  for (int i = 0; i < 2; ++i)
    list += fmt::format("#  Rank  {} Group  0 Pid   7 on   box device  {} [0x1b] NVIDIA Graphics Device\n", i, i);
  const auto told = verdicts(imported(list + all_reduce(1073741824.0, 9300, 115.46)), "aws:p5.48xlarge");
  EXPECT_EQ(on(told, "identity.accelerator_count").kind, VerdictKind::not_measured);
  EXPECT_EQ(on(told, "identity.accelerator").kind, VerdictKind::not_measured)
      << "a name of no product contradicts none";
  const Imported all = imported(nvbandwidth(2, "NVIDIA H100 80GB HBM3", host_link(2, 55)));
  EXPECT_EQ(on(verdicts(all, "aws:p5.48xlarge"), "identity.accelerator_count").kind, VerdictKind::contradicted);
}

TEST(import_judged, a_collective_without_a_name_is_pointed_to) {
  const Imported run = imported(all_reduce(1073741824.0, 9300, 115.46));
  const Verdict claim = on(verdicts(run, "", "allreduce.busbw.gbps>=300"), "allreduce.busbw.gbps");
  EXPECT_EQ(claim.kind, VerdictKind::not_measured);
  EXPECT_THAT(claim.reason, HasSubstr("collective.busbw.gbps: claim that"));
}

}  // namespace
}  // namespace claimcheck
