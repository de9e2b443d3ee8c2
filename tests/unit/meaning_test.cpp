// A claim that is too high told apart from a machine that is slow. Typical of the made H100 is 800 TFLOPS bf16, slow is
// below 720; its sheet says 989.
#include "harness/judge/meaning.h"

#include "harness/result/document.h"
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;

std::vector<Verdict> judged(double tflops, const std::vector<std::string>& claims) {
  Document document = made::gpu_node();
  document.platform = nlohmann::json::object();
  document.measurements = {made::gemm_bf16(tflops, tflops)};
  return all_verdicts(document, parse_claims(claims), made::catalog());
}

std::string kind_of(double tflops, const std::string& claim) {
  return judged(tflops, {claim}).front().meaning["kind"].get<std::string>();
}

TEST(Meaning, TellsMarketingFromASickMachine) {
  EXPECT_EQ(kind_of(790, "gemm.bf16.tflops>=989"), "claim_too_high");
  EXPECT_EQ(kind_of(820, "gemm.bf16.tflops>=989"), "claim_too_high") << "above typical, below the claim";
  EXPECT_EQ(kind_of(612, "gemm.bf16.tflops>=989"), "slow_and_too_high");
  EXPECT_EQ(kind_of(612, "gemm.bf16.tflops>=750"), "machine_slow") << "healthy ones reach 800";
  EXPECT_EQ(kind_of(730, "gemm.bf16.tflops>=780"), "low_end") << "within 10 % of 800, which meets it";
  EXPECT_EQ(kind_of(790, "gemm.bf16.tflops>=700"), "as_sold");
  EXPECT_EQ(kind_of(612, "gemm.bf16.tflops>=600"), "machine_slow") << "met, and slow all the same";
  EXPECT_EQ(kind_of(790, "gemm.bf16.tflops[sparse=yes]>=1979"), "claim_too_high");
  EXPECT_EQ(kind_of(790, "gemm.bf16.tflops[per=node]>=7912"), "claim_too_high");
  EXPECT_EQ(kind_of(612, "gemm.bf16.tflops[per=node]>=6000"), "machine_slow") << "8 x 800 meet it";
  EXPECT_EQ(kind_of(790, "allgather.busbw.gbps>=1"), "open") << "not measured";
  EXPECT_EQ(kind_of(790, "identity.accelerator_count==4"), "not_as_sold");
}

TEST(Meaning, HasBothComparisons) {
  const Verdict verdict = judged(790, {"gemm.bf16.tflops>=989"}).front();
  EXPECT_NEAR(verdict.meaning["of_claim"].get<double>(), 790.0 / 989, 1e-12);
  EXPECT_NEAR(verdict.meaning["of_typical"].get<double>(), 790.0 / 800, 1e-12);
  EXPECT_EQ(verdict.meaning["typical"], (nlohmann::json{800.0, 800.0}));
  EXPECT_EQ(verdict.meaning["unit"], "TFLOPS");
  EXPECT_EQ(verdict.meaning["text"],
            "79.9 % of the claim, 98.8 % of what healthy machines of this kind reach (800 TFLOPS): the claim is "
            "marketing, this machine is as good as others of its kind; keep it and argue the price.");
  EXPECT_THAT(verdicts_text({verdict}), HasSubstr("98.8 % of what healthy machines of this kind reach"));
}

TEST(Meaning, WithoutATypicalValueNobodyCanTell) {
  Document document = with({triad(six(30))});
  const Verdict missed = all_verdicts(document, {parse_claim("memory.triad.gbps>=40")}, {}).front();
  EXPECT_EQ(missed.meaning["kind"], "unknown");
  EXPECT_FALSE(missed.meaning.contains("of_typical"));
  EXPECT_NEAR(missed.meaning["of_claim"].get<double>(), 0.75, 1e-12);
  EXPECT_EQ(all_verdicts(document, {parse_claim("memory.triad.gbps>=20")}, {}).front().meaning["kind"], "met");
}

TEST(Meaning, OfTheWholeRun) {
  EXPECT_THAT(meaning_of_all(judged(790, {"gemm.bf16.tflops>=989"})),
              HasSubstr("The claim is marketing, the machine is not sick"));
  EXPECT_THAT(meaning_of_all(judged(612, {"gemm.bf16.tflops>=700"})),
              HasSubstr("This machine is sick: healthy ones of its kind are faster in matrix multiply, bf16"));
  EXPECT_THAT(meaning_of_all(judged(612, {})), HasSubstr("This machine is sick")) << "nobody claimed anything";
  EXPECT_THAT(meaning_of_all(judged(612, {"gemm.bf16.tflops>=989"})),
              AllOf(HasSubstr("This machine is sick"), HasSubstr("marketing besides")));
  EXPECT_THAT(meaning_of_all(judged(790, {"gemm.bf16.tflops>=700"})), HasSubstr("Nothing is wrong with this machine"));
  EXPECT_THAT(meaning_of_all(judged(730, {"gemm.bf16.tflops>=780"})), HasSubstr("at the low end of healthy ones"));
  EXPECT_THAT(meaning_of_all(judged(790, {"gemm.bf16.tflops>=989", "identity.accelerator_count==4"})),
              AllOf(HasSubstr("It is not what was sold (number of accelerators)"), HasSubstr("marketing")));
  EXPECT_THAT(meaning_of_all(all_verdicts(with({triad(six(30))}), {parse_claim("memory.triad.gbps>=40")}, {})),
              HasSubstr("Marketing or a sick machine, nobody can tell"));
  EXPECT_EQ(meaning_of_all({}), "");
}

TEST(Meaning, IsKeptInTheDocument) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(790, 790)};
  document.verdicts = judged(790, {"gemm.bf16.tflops>=989"});
  const Document again = document_from(to_json(document));
  ASSERT_FALSE(again.verdicts.empty());
  EXPECT_EQ(again.verdicts.front().meaning, document.verdicts.front().meaning);
}

}  // namespace
}  // namespace claimcheck
