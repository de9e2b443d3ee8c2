// Versions by their meaning, and claims on what is installed.
#include "harness/judge/software.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/error.h"
#include "harness/judge/claim.h"
#include "harness/judge/judge.h"
#include "harness/version_number.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(VersionNumber, OrderedByMeaning) {
  const std::vector<std::vector<const char*>> rising = {{"2.4.0.dev20240601", "2.4.0.dev20240602"},
                                                        {"2.4.0a0+f70bd71a48.nv24.06"},
                                                        {"2.4.0b1"},
                                                        {"2.4.0rc1", "2.4.0rc2"},
                                                        {"2.4.0"},
                                                        {"2.4.1"},
                                                        {"2.9"},
                                                        {"2.10"},
                                                        {"10"}};
  std::vector<std::string> all;
  for (const auto& step : rising) all.insert(all.end(), step.begin(), step.end());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < all.size(); ++j)
      EXPECT_EQ(compare_versions(all[i], all[j]), i < j ? -1 : i > j ? 1 : 0) << all[i] << " " << all[j];
}

TEST(VersionNumber, WhatCountsForNothing) {
  for (const char* same :
       {"2.4", "2.4.0", "v2.4", "2.4.0+cu121", "1:2.4-4ubuntu1", "2.4.0-1+cuda12.4", "2.4amzn1.0", "2.4.0.0", "02.04"})
    EXPECT_EQ(compare_versions("2.4.0", same), 0) << same;
  EXPECT_EQ(compare_versions("560.35.03", "560.35.3"), 0);
  EXPECT_LT(compare_versions("present", "0"), 0);
  EXPECT_EQ(compare_versions("", "present"), 0);
  EXPECT_TRUE(is_version("12.4.1"));
  for (const char* text : {"", "present", ".", "v", ":", "x1"}) EXPECT_FALSE(is_version(text)) << text;
}

TEST(VersionNumber, Meets) {
  EXPECT_TRUE(version_meets("2.4.1", "==", "2.4"));
  EXPECT_FALSE(version_meets("2.4.1", "==", "2.4.0"));
  EXPECT_FALSE(version_meets("2.40", "==", "2.4"));
  EXPECT_TRUE(version_meets("2.10", ">=", "2.4"));
  EXPECT_FALSE(version_meets("2.4.0rc1", ">=", "2.4"));
  EXPECT_TRUE(version_meets("2.4.0", "<=", "2.4"));
  EXPECT_FALSE(version_meets("2.4.1", "<=", "2.4"));
}

Document with(json found, const char* container = "none") {
  Document document;
  document.system["container"] = container;
  document.system["software_found"] = std::move(found);
  return document;
}

Verdict verdict_on(const std::string& claim, const Document& document) {
  return judge(document, {parse_claim(claim)}, Catalog{}).front();
}

const json torch = json::array({{{"name", "pytorch"}, {"version", "2.1.0"}, {"where", "opt/conda"}},
                                {{"name", "pytorch"}, {"version", "2.4.0+cu121"}, {"where", "opt/pytorch"}},
                                {{"name", "docker"}, {"version", nullptr}, {"where", "usr/bin/docker"}}});

TEST(SoftwareClaims, OneInstallationMustMeetThem) {
  const Document document = with(torch);
  Verdict verdict = verdict_on("identity.software.pytorch>=2.4", document);
  EXPECT_EQ(verdict.kind, VerdictKind::met);
  EXPECT_EQ(verdict.attained, "2.4.0+cu121");
  EXPECT_EQ(verdict.reason, "PyTorch 2.4.0+cu121 is installed (opt/pytorch)");
  EXPECT_EQ(verdict_on("identity.software.pytorch==2.1", document).attained, "2.1.0");
  EXPECT_EQ(verdict_on("identity.software.pytorch==present", document).kind, VerdictKind::met);
  verdict = verdict_on("identity.software.pytorch>=2.5", document);
  EXPECT_EQ(verdict.kind, VerdictKind::contradicted);
  EXPECT_THAT(verdict.reason, HasSubstr("2.4.0+cu121 is installed (opt/pytorch); >= 2.5 was offered"));
  EXPECT_FALSE(verdict.diagnosis.empty());
}

TEST(SoftwareClaims, WhatNoFileTells) {
  const Document document = with(torch);
  EXPECT_EQ(verdict_on("identity.software.docker==present", document).attained, "present");
  const Verdict verdict = verdict_on("identity.software.docker>=20", document);
  EXPECT_EQ(verdict.kind, VerdictKind::not_measured);
  EXPECT_THAT(verdict.reason, HasSubstr("no file tells its version"));
}

TEST(SoftwareClaims, AbsenceInAContainerProvesNothing) {
  EXPECT_EQ(verdict_on("identity.software.slurm==present", with(torch)).kind, VerdictKind::contradicted);
  const Verdict verdict = verdict_on("identity.software.slurm==present", with(torch, "docker"));
  EXPECT_EQ(verdict.kind, VerdictKind::not_measured);
  EXPECT_THAT(verdict.reason, HasSubstr("in this container (docker)"));
  EXPECT_EQ(verdict_on("identity.software.slurm==present", Document{}).kind, VerdictKind::not_measured);
}

TEST(SoftwareClaims, AsWritten) {
  const Claim claim = parse_claim(" identity.software.fabric-manager >= 550.54 ");
  EXPECT_EQ(claim.metric, "identity.software.fabric_manager");
  EXPECT_EQ(to_text(claim), "identity.software.fabric_manager >= 550.54");
  for (const auto& [text, said] : {std::pair("identity.software.pytroch>=2", "\"identity.software.pytorch\""),
                                   {"identity.software.pytorch>2", "expected >=, <= or =="},
                                   {"identity.software.pytorch>=new", "expected a version such as 2.4, or present"},
                                   {"identity.software.pytorch>=2.4 GB", "expected a version such as 2.4, or present"},
                                   {"identity.software.pytorch>=present", "expected == before present"},
                                   {"identity.software.pytorch", "expected an operator"}}) {
    try {
      parse_claim(text);
      ADD_FAILURE() << text << " was taken";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr(said)) << text;
    }
  }
}

}  // namespace
}  // namespace claimcheck
