// Verdicts, continued: identity, typical values, ceilings, summaries and exit codes on hand-made documents.
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;

TEST(Judge, NoDiagnosisWithoutEvidence) {
  EXPECT_THAT(verdict_on(with({triad(six(30))}), "memory.triad.gbps>=40").diagnosis, IsEmpty());
}

TEST(PlatformClaims, IdentityAndDataSheet) {
  const Catalog catalog = made::catalog();
  const auto claims = platform_claims(catalog.platforms[0], catalog);
  std::vector<std::string> ids;
  for (const Claim& claim : claims) ids.push_back(claim.id);
  EXPECT_THAT(ids, ElementsAre("platform:aws:p5.48xlarge:accelerator", "platform:aws:p5.48xlarge:accelerator_count",
                               "platform:aws:p5.48xlarge:accelerator_memory_gb", "platform:aws:p5.48xlarge:vcpus",
                               "platform:aws:p5.48xlarge:ram_gib", "data_sheet:nvidia-h100-sxm-80:gemm.fp64.tflops",
                               "data_sheet:nvidia-h100-sxm-80:gemm.bf16.tflops",
                               "data_sheet:nvidia-h100-sxm-80:memory.read.gbps"));
  EXPECT_EQ(claims[2].value, 80);
  EXPECT_EQ(claims[5].value, 67) << "the library's fp64 runs on the tensor cores";
  EXPECT_EQ(claims[6].definition["density"], "dense");
  EXPECT_EQ(claims[6].source["text"], "the sheet");
}

TEST(PlatformClaims, APeakIsHeldToWhatHealthyPartsSustain) {
  Document document = made::gpu_node();
  const Catalog catalog = made::catalog();
  const std::string id = "data_sheet:nvidia-h100-sxm-80:gemm.bf16.tflops";
  // typical 800 of 989; less 10 %: 720 TFLOPS.
  document.measurements = {made::gemm_bf16(730, 741)};
  auto verdicts = all_verdicts(document, {}, catalog);
  ASSERT_NE(find(verdicts, id), nullptr);
  EXPECT_EQ(find(verdicts, id)->kind, VerdictKind::met);
  EXPECT_THAT(find(verdicts, id)->reason,
              AllOf(HasSubstr("730 TFLOPS is 73.8 % of the claimed 989 TFLOPS"),
                    HasSubstr("989 TFLOPS is an arithmetic peak, of which healthy parts sustain 80.9 %"),
                    HasSubstr("720 TFLOPS counts as met")));
  document.measurements = {made::gemm_bf16(612, 741)};
  verdicts = all_verdicts(document, {}, catalog);
  EXPECT_EQ(find(verdicts, id)->kind, VerdictKind::not_met);
  EXPECT_THAT(find(verdicts, id)->reason, HasSubstr("falls short by 108 TFLOPS (15.0 %) of 720 TFLOPS: 612 TFLOPS is "
                                                    "61.9 % of the claimed 989 TFLOPS"));
  // The user's own figure is held to the letter.
  document.measurements = {made::gemm_bf16(730, 741)};
  EXPECT_EQ(verdict_on(document, "gemm.bf16.tflops>=989", catalog).kind, VerdictKind::not_met);
}

TEST(PlatformClaims, AGpuClaimIsNotAnsweredByACpu) {
  Document document = with({on_cpu(measured("gemm.bf16", "gemm.bf16.tflops", "TFLOPS", six(900)))});
  document.platform = {{"instance", "aws:p5.48xlarge"}};
  const auto verdicts = all_verdicts(document, {}, made::catalog());
  const Verdict* verdict = find(verdicts, "data_sheet:nvidia-h100-sxm-80:gemm.bf16.tflops");
  ASSERT_NE(verdict, nullptr);
  EXPECT_EQ(verdict->kind, VerdictKind::not_measured);
  EXPECT_EQ(verdict->reason, "only the CPU was measured; the claim is about the NVIDIA H100 SXM5 80GB");
}

TEST(Identity, TheMachineThatWasSold) {
  const auto verdicts = all_verdicts(made::gpu_node(), {}, made::catalog());
  for (const char* what : {"accelerator", "accelerator_count", "vcpus"}) {
    const Verdict* verdict = find(verdicts, std::string("platform:aws:p5.48xlarge:") + what);
    ASSERT_NE(verdict, nullptr) << what;
    EXPECT_EQ(verdict->kind, VerdictKind::met) << what << ": " << verdict->reason;
  }
  // 2.16e12 bytes are 2012 GiB: 98.2 % of 2048.
  const Verdict* ram = find(verdicts, "platform:aws:p5.48xlarge:ram_gib");
  EXPECT_EQ(ram->kind, VerdictKind::met);
  EXPECT_THAT(ram->reason, HasSubstr("of 2048 GiB is visible (98.2 %)"));
}

TEST(Identity, AnotherMachineIsContradicted) {
  Document document = made::gpu_node();
  for (auto& device : document.system["devices"]) device["name"] = "NVIDIA A100-SXM4-40GB";
  document.system["devices"].erase(7);
  document.system["cpu"]["threads"] = 96;
  document.system["memory_bytes"] = 1e12;
  const auto verdicts = all_verdicts(document, {}, made::catalog());
  const auto expect = [&](const char* what, const char* reason, const char* diagnosis) {
    const Verdict* verdict = find(verdicts, std::string("platform:aws:p5.48xlarge:") + what);
    ASSERT_NE(verdict, nullptr);
    EXPECT_EQ(verdict->kind, VerdictKind::contradicted) << what;
    EXPECT_THAT(verdict->reason, HasSubstr(reason));
    ASSERT_FALSE(verdict->diagnosis.empty()) << what;
    EXPECT_THAT(verdict->diagnosis[0], AllOf(HasSubstr(diagnosis), HasSubstr(" -> ")));
  };
  expect("accelerator", "the machine has 7 x NVIDIA A100-SXM4-40GB; NVIDIA H100 SXM5 80GB was sold", "ordered");
  expect("accelerator_count", "7 here; 8 sold", "1 of 8 accelerators are missing");
  expect("vcpus", "the machine shows 96 of 192 vCPUs", "Exactly half");
  expect("ram_gib", "(45.5 %)", "not this much");
}

TEST(Identity, NoAcceleratorAtAll) {
  Document document = made::cpu_machine();
  document.platform = {{"instance", "aws:p5.48xlarge"}};
  const auto verdicts = all_verdicts(document, {}, made::catalog());
  const Verdict* verdict = find(verdicts, "platform:aws:p5.48xlarge:accelerator");
  EXPECT_EQ(verdict->kind, VerdictKind::contradicted);
  EXPECT_EQ(verdict->reason, "no accelerator is here; NVIDIA H100 SXM5 80GB was sold");
}

TEST(Identity, WhatTheResultDoesNotSayIsNotJudged) {
  Document document;
  document.platform = {{"instance", "aws:p5.48xlarge"}};
  const auto verdicts = all_verdicts(document, {}, made::catalog());
  ASSERT_FALSE(verdicts.empty());
  for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.kind, VerdictKind::not_measured) << verdict.claim.id;
}

TEST(Identity, LocalDisksAreNotNetworkDisks) {
  Catalog catalog = made::catalog();
  catalog.platforms[0].local_nvme_gb = 30400;
  Document document = made::gpu_node();
  nlohmann::json disks = {{{"name", "nvme0n1"}, {"model", "Amazon Elastic Block Store"}, {"bytes", 40e12}}};
  for (int i = 1; i <= 8; ++i) {
    disks.push_back({{"name", "nvme" + std::to_string(i) + "n1"},
                     {"model", "Amazon EC2 NVMe Instance Storage"},
                     {"bytes", 3.8e12}});
  }
  document.system["disks"] = disks;
  const std::string id = "platform:aws:p5.48xlarge:local_nvme_gb";
  EXPECT_EQ(find(all_verdicts(document, {}, catalog), id)->kind, VerdictKind::met);
  document.system["disks"].erase(8);
  const auto verdicts = all_verdicts(document, {}, catalog);
  EXPECT_EQ(find(verdicts, id)->kind, VerdictKind::contradicted);
  EXPECT_THAT(find(verdicts, id)->reason, HasSubstr("26600 GB on 7 local NVMe disks of 30400 GB sold"));
}

TEST(Typical, IsKeptApartFromClaims) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(730, 741)};
  auto verdicts = expected_verdicts(document, made::catalog());
  ASSERT_EQ(verdicts.size(), 1U) << "only what was measured";
  EXPECT_EQ(verdicts[0].kind, VerdictKind::met);
  EXPECT_EQ(verdicts[0].claim.definition["comparison"], "typical");
  EXPECT_NEAR(verdicts[0].claim.value.get<double>(), 720, 1e-9);
  EXPECT_EQ(verdicts[0].reason, "730 TFLOPS is 91.2 % of the typical 800 TFLOPS");
  document.measurements = {made::gemm_bf16(612, 741)};
  verdicts = expected_verdicts(document, made::catalog());
  EXPECT_EQ(verdicts[0].kind, VerdictKind::not_met);
  EXPECT_EQ(verdicts[0].reason, "612 TFLOPS is 76.5 % of the typical 800 TFLOPS, below 720 TFLOPS");
}

// 63 of 989 TFLOPS in products of 64 x 64 x 64, which --max-gemm asked for, is nobody's sickness.
TEST(Typical, SmallSizesSayLittle) {
  const Catalog catalog = made::catalog();
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(63, 63)};
  EXPECT_EQ(expected_verdicts(document, catalog).size(), 1U);
  document.measurements[0].conditions["limited"] = "a product of 64 x 64 x 64 occupies 1 of 132 units";
  EXPECT_THAT(expected_verdicts(document, catalog), IsEmpty());
  const Verdict mine = verdict_on(document, "gemm.bf16.tflops>=900", catalog);
  EXPECT_EQ(mine.kind, VerdictKind::not_met);
  EXPECT_THAT(mine.reason, HasSubstr("this says little about the machine: a product of 64 x 64 x 64 occupies 1 of 132 "
                                     "units; measure without --max-bytes and --max-gemm, and with the memory free"));
  Claim sheet = parse_claim("gemm.bf16.tflops>=900");
  sheet.id = "data_sheet:nvidia-h100-sxm-80:gemm.bf16.tflops";
  const Verdict theirs = judge(document, {sheet}, catalog).front();
  EXPECT_EQ(theirs.kind, VerdictKind::inconclusive);
  EXPECT_THAT(theirs.reason, HasSubstr("63.0 TFLOPS says little: a product of 64 x 64 x 64 occupies 1 of 132 units"));
}

TEST(Typical, OnlyUnderTheSameConditions) {
  Catalog catalog = made::catalog();
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(500, 500)};
  catalog.expected[0].conditions = {{"pattern", "constant"}};
  EXPECT_THAT(expected_verdicts(document, catalog), IsEmpty()) << "constant data is no yardstick for random data";
  catalog.expected[0].conditions = {{"ecc", "on"}};
  EXPECT_THAT(expected_verdicts(document, catalog), IsEmpty()) << "what is not recorded does not hold";
  document.measurements[0].conditions["ecc"] = "on";
  EXPECT_EQ(expected_verdicts(document, catalog).size(), 1U);
  catalog.expected[0].conditions = {{"shape", "8192x8192x8192"}, {"pattern", "random"}, {"count", 8}};
  EXPECT_EQ(expected_verdicts(document, catalog).size(), 1U);
  catalog.expected[0].conditions = {{"shape", "4096x4096x4096"}};
  EXPECT_THAT(expected_verdicts(document, catalog), IsEmpty());
  catalog.expected[0].conditions = {{"count", 4}};
  EXPECT_THAT(expected_verdicts(document, catalog), IsEmpty());
  catalog.expected[0].conditions = nlohmann::json::object();
  catalog.expected[0].unusable = "a digit was lost";
  EXPECT_THAT(expected_verdicts(document, catalog), IsEmpty());
}

TEST(Typical, NeverForACpu) {
  Document document = with({on_cpu(measured("gemm.bf16", "gemm.bf16.tflops", "TFLOPS", six(1)))});
  document.platform = {{"instance", "aws:p5.48xlarge"}};
  EXPECT_THAT(expected_verdicts(document, made::catalog()), IsEmpty());
}

Verdict of_kind(VerdictKind kind, const std::string& id = "user:1") {
  Verdict verdict;
  verdict.claim.id = id;
  verdict.claim.metric = "memory.triad.gbps";
  verdict.claim.definition = {{"comparison", "claim"}};
  verdict.kind = kind;
  return verdict;
}

TEST(ExitCodes, Table) {
  using K = VerdictKind;
  Document whole;
  whole.run = {{"status", "complete"}};
  const struct {
    std::vector<VerdictKind> kinds;
    int usual;
    int strict;
  } rows[] = {
      {{}, 0, 0},
      {{K::met}, 0, 0},
      {{K::not_met}, 1, 1},
      {{K::contradicted}, 1, 1},
      {{K::met, K::not_met}, 1, 1},
      {{K::not_measured, K::not_met}, 1, 1},
      {{K::inconclusive}, 4, 4},
      {{K::not_measured}, 4, 4},
      {{K::implausible}, 4, 4},
      {{K::met, K::inconclusive}, 0, 4},
      {{K::met, K::not_measured}, 0, 4},
      {{K::met, K::implausible}, 0, 4},
      {{K::not_measured, K::inconclusive, K::implausible}, 4, 4},
  };
  for (const auto& row : rows) {
    std::vector<Verdict> verdicts;
    std::string name;
    for (const VerdictKind kind : row.kinds) {
      verdicts.push_back(of_kind(kind));
      name += std::string(to_string(kind)) + " ";
    }
    EXPECT_EQ(static_cast<int>(exit_code(verdicts, whole, false)), row.usual) << name;
    EXPECT_EQ(static_cast<int>(exit_code(verdicts, whole, true)), row.strict) << name << "strict";
  }
}

TEST(ExitCodes, TheUsersOwnClaimsNeedAnAnswer) {
  const Document document = made::cpu_machine();
  const std::vector<Verdict> verdicts = {of_kind(VerdictKind::not_measured, "user:1"),
                                         of_kind(VerdictKind::met, "platform:x:vcpus")};
  EXPECT_EQ(exit_code(verdicts, document, false), ExitCode::incomplete);
}

TEST(ExitCodes, WhatHappenedToTheRunCounts) {
  const std::vector<Verdict> met = {of_kind(VerdictKind::met)};
  Document document = made::cpu_machine();
  document.measurements = {unmeasured("gemm.bf16", "gemm.bf16.tflops", Outcome::unsupported, "no")};
  EXPECT_EQ(exit_code(met, document, true), ExitCode::ok) << "unsupported and not asked for";
  for (const Outcome outcome : {Outcome::crashed, Outcome::timed_out, Outcome::unstable, Outcome::failed}) {
    document.measurements = {unmeasured("x", "memory.copy.gbps", outcome, "so")};
    EXPECT_EQ(exit_code(met, document, false), ExitCode::ok);
    EXPECT_EQ(exit_code(met, document, true), ExitCode::incomplete);
  }
  document.measurements = {unmeasured("x", "memory.copy.gbps", Outcome::wrong_result, "so")};
  EXPECT_EQ(exit_code(met, document, false), ExitCode::incomplete) << "a machine that computes wrongly never passes";
  document.measurements.clear();
  document.run["status"] = "partial";
  EXPECT_EQ(exit_code(met, document, false), ExitCode::ok);
  EXPECT_EQ(exit_code(met, document, true), ExitCode::incomplete);
}

TEST(Summary, VerdictFirst) {
  using K = VerdictKind;
  EXPECT_EQ(summary({of_kind(K::met)}), "The claim is met.");
  EXPECT_EQ(summary({of_kind(K::met), of_kind(K::met)}), "All 2 claims are met.");
  EXPECT_EQ(summary({of_kind(K::met), of_kind(K::not_met), of_kind(K::not_measured)}),
            "Not as claimed: 1 of 3 claims are not met, 1 not measured.");
  EXPECT_EQ(summary({of_kind(K::met, "platform:x:ram"), of_kind(K::contradicted, "platform:x:vcpus")}),
            "Not what was sold: 1 of 2 claims are not met.");
  EXPECT_EQ(summary({of_kind(K::met), of_kind(K::inconclusive)}),
            "1 of 2 claims are met, none is missed, 1 inconclusive.");
  EXPECT_EQ(summary({of_kind(K::not_measured)}), "Nothing could be judged: 0 of 1 claim is answered, 1 not measured.");
  Verdict low = of_kind(K::not_met, "expected:x");
  low.claim.definition["comparison"] = "typical";
  EXPECT_EQ(summary({of_kind(K::met), low}),
            "The claim is met. 1 figure is worse than on healthy machines of this kind.");
}

TEST(VerdictsText, FitsAHundredColumnsAndShowsTheWay) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(612, 741)};
  document.system["devices"].erase(7);
  const auto verdicts = all_verdicts(document, {parse_claim("gemm.bf16.tflops>=1979")}, made::catalog());
  const std::string text = verdicts_text(verdicts);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(display_width(text.substr(begin, end - begin)), 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_THAT(text, AllOf(HasSubstr("data sheet of one NVIDIA H100 SXM5 80GB"), HasSubstr("matrix multiply, bf16"),
                          HasSubstr("989 TFLOPS"), HasSubstr("61.9 %"), HasSubstr("not met"), HasSubstr("WHY"),
                          HasSubstr("   -> "), HasSubstr("NOT MEASURED"), HasSubstr("contradicted")));
}

}  // namespace
}  // namespace claimcheck
