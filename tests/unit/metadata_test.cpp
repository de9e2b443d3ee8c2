// What metadata services answer, read from small documents written after the vendors' documentation.
#include "harness/probe/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "harness/probe/probe.h"

namespace claimcheck::probe {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = HttpAnswer::Kind;

HttpAnswer answer(int code, const std::string& body = "", const std::map<std::string, std::string>& headers = {}) {
  return {Kind::answered, code, body, headers};
}

// Answers by "METHOD path"; everything else is 404. Notes what was asked.
class Service {
 public:
  Service& on(const std::string& what, HttpAnswer given) {
    answers_[what] = std::move(given);
    return *this;
  }
  MetadataAnswer ask(const std::string& provider) {
    return ask_metadata(provider, "http://cloud", [this](const HttpRequest& request) {
      EXPECT_EQ(request.url.rfind("http://cloud/", 0), 0u) << request.url;
      const std::string what = request.method + " " + request.url.substr(12);
      asked.push_back(what);
      headers[what] = request.headers;
      const auto found = answers_.find(what);
      return found == answers_.end() ? answer(404) : found->second;
    });
  }
  std::vector<std::string> asked;
  std::map<std::string, std::vector<std::string>> headers;

 private:
  std::map<std::string, HttpAnswer> answers_;
};

Service aws() {
  Service service;
  service.on("PUT /latest/api/token", answer(200, "AQAEAtoken=="))
      .on("GET /latest/dynamic/instance-identity/document",
          answer(200, R"({"accountId": "123456789012", "instanceType": "p5.48xlarge", "region": "us-east-2",
                          "availabilityZone": "us-east-2b", "instanceId": "i-0abc"})"))
      .on("GET /latest/meta-data/instance-life-cycle", answer(200, "on-demand"));
  return service;
}

TEST(Metadata, AwsByTokenOnly) {
  Service service = aws();
  const MetadataAnswer told = service.ask("aws");
  EXPECT_EQ(told.status, "answered");
  EXPECT_EQ(told.facts, (json{{"instance", "p5.48xlarge"},
                              {"region", "us-east-2"},
                              {"zone", "us-east-2b"},
                              {"instance_id", "i-0abc"},
                              {"spot", false},
                              {"interruption", nullptr}}));
  EXPECT_THAT(service.headers["PUT /latest/api/token"], ElementsAre("X-aws-ec2-metadata-token-ttl-seconds: 60"));
  EXPECT_THAT(service.headers["GET /latest/meta-data/instance-life-cycle"],
              ElementsAre("X-aws-ec2-metadata-token: AQAEAtoken=="));
  EXPECT_EQ(service.asked.size(), 3u) << "no word on interruption is asked of a machine that is not spot";
}

TEST(Metadata, AwsWithoutATokenIsNotAskedFurther) {
  for (const auto& [given, status] : {std::pair(answer(403), "disabled"),
                                      {answer(404), "disabled"},
                                      {answer(401), "refused"},
                                      {answer(500), "failed"},
                                      {answer(302, "", {{"location", "http://elsewhere/"}}), "failed"},
                                      {answer(200, "<html>log in</html>"), "nonsense"},
                                      {answer(200, ""), "nonsense"},
                                      {HttpAnswer{Kind::timed_out, 0, "", {}}, "no_answer"},
                                      {HttpAnswer{Kind::unreachable, 0, "", {}}, "no_answer"},
                                      {HttpAnswer{Kind::too_large, 200, "", {}}, "nonsense"}}) {
    Service service = aws();
    const MetadataAnswer told = service.on("PUT /latest/api/token", given).ask("aws");
    EXPECT_EQ(told.status, status);
    EXPECT_THAT(told.reason, HasSubstr("PUT /latest/api/token")) << status;
    EXPECT_FALSE(told.facts.contains("instance"));
    EXPECT_THAT(service.asked, ElementsAre("PUT /latest/api/token"));
  }
}

TEST(Metadata, AwsSpotAndItsNotice) {
  Service service = aws();
  service.on("GET /latest/meta-data/instance-life-cycle", answer(200, "spot\n"));
  MetadataAnswer told = service.ask("aws");
  EXPECT_EQ(told.facts["spot"], true);
  EXPECT_TRUE(told.facts["interruption"].is_null());
  EXPECT_EQ(told.status, "answered") << "404 for the notice is an answer";
  service.on("GET /latest/meta-data/spot/instance-action",
             answer(200, R"({"action": "stop", "time": "2026-11-30T08:22:00Z"})"));
  told = service.ask("aws");
  EXPECT_EQ(told.facts["interruption"], (json{{"action", "stop"}, {"at", "2026-11-30T08:22:00Z"}}));
}

TEST(Metadata, AnIdentityDocumentOfSomethingElse) {
  for (const char* text : {"not json", "[]", "{}", R"({"instanceType": 7})", R"({"instanceType": "<b>p5</b>"})"}) {
    const MetadataAnswer told =
        aws().on("GET /latest/dynamic/instance-identity/document", answer(200, text)).ask("aws");
    EXPECT_EQ(told.status, "nonsense") << text;
    EXPECT_FALSE(told.facts.contains("instance")) << text;
  }
}

Service azure(const std::string& priority) {
  Service service;
  service.on("GET /metadata/instance?api-version=2021-02-01", answer(200, json{{"compute",
                                                                                {{"vmSize", "Standard_ND96isr_H100_v5"},
                                                                                 {"location", "eastus"},
                                                                                 {"zone", ""},
                                                                                 {"vmId", "02aab8a4-74ef"},
                                                                                 {"priority", priority}}}}
                                                                              .dump()));
  return service;
}

TEST(Metadata, Azure) {
  Service service = azure("Regular");
  MetadataAnswer told = service.ask("azure");
  EXPECT_EQ(told.facts, (json{{"instance", "Standard_ND96isr_H100_v5"},
                              {"region", "eastus"},
                              {"instance_id", "02aab8a4-74ef"},
                              {"spot", false},
                              {"interruption", nullptr}}));
  EXPECT_THAT(service.headers["GET /metadata/instance?api-version=2021-02-01"], ElementsAre("Metadata: true"));
  EXPECT_EQ(service.asked.size(), 1u) << "scheduled events are switched on by asking for them";
  service = azure("Spot");
  service.on("GET /metadata/scheduledevents?api-version=2020-07-01",
             answer(200, R"({"DocumentIncarnation": 1, "Events": [{"EventType": "Reboot", "NotBefore": ""},
                      {"EventType": "Preempt", "NotBefore": "Mon, 30 Nov 2026 17:07:32 GMT"}]})"));
  told = service.ask("azure");
  EXPECT_EQ(told.facts["spot"], true);
  EXPECT_EQ(told.facts["interruption"], (json{{"action", "preempt"}, {"at", "Mon_30_Nov_2026_17:07:32_GMT"}}));
}

// The first request for scheduled events may take Azure two minutes.
TEST(Metadata, WhatCameBeforeAFailureIsKept) {
  const MetadataAnswer told =
      azure("Spot")
          .on("GET /metadata/scheduledevents?api-version=2020-07-01", HttpAnswer{Kind::timed_out, 0, "", {}})
          .ask("azure");
  EXPECT_EQ(told.status, "answered");
  EXPECT_THAT(told.reason, HasSubstr("scheduledevents"));
  EXPECT_EQ(told.facts["instance"], "Standard_ND96isr_H100_v5");
}

TEST(Metadata, GcpOnlyWithItsHeaderInBothDirections) {
  const std::string at = "GET /computeMetadata/v1/instance/";
  const std::map<std::string, std::string> google = {{"metadata-flavor", "Google"}};
  Service service;
  service.on(at + "machine-type", answer(200, "projects/1/machineTypes/a3-highgpu-8g", google))
      .on(at + "zone", answer(200, "projects/1/zones/us-central1-a", google))
      .on(at + "id", answer(200, "4242", google))
      .on(at + "scheduling/preemptible", answer(200, "TRUE", google))
      .on(at + "preempted", answer(200, "FALSE", google));
  MetadataAnswer told = service.ask("gcp");
  EXPECT_EQ(told.facts, (json{{"instance", "a3-highgpu-8g"},
                              {"region", "us-central1"},
                              {"zone", "us-central1-a"},
                              {"instance_id", "4242"},
                              {"spot", true},
                              {"interruption", nullptr}}));
  for (const auto& [what, headers] : service.headers)
    EXPECT_THAT(headers, ElementsAre("Metadata-Flavor: Google")) << what;
  service.on(at + "preempted", answer(200, "TRUE", google));
  EXPECT_EQ(service.ask("gcp").facts["interruption"], (json{{"action", "preempt"}, {"at", nullptr}}));
  service.on(at + "machine-type", answer(200, "projects/1/machineTypes/a3-highgpu-8g"));
  told = service.ask("gcp");
  EXPECT_EQ(told.status, "nonsense");
  EXPECT_FALSE(told.facts.contains("instance"));
}

TEST(Metadata, AlibabaWithAndWithoutAToken) {
  const std::string document = R"({"instance-type": "ecs.gn7e-c16g1.4xlarge", "region-id": "cn-hangzhou",
                                   "zone-id": "cn-hangzhou-i", "instance-id": "i-bp1"})";
  Service service;
  service.on("PUT /latest/api/token", answer(200, "token=="))
      .on("GET /latest/dynamic/instance-identity/document", answer(200, document))
      .on("GET /latest/meta-data/instance/spot/termination-time", answer(200, "2026-11-30T17:03:00Z"));
  const MetadataAnswer told = service.ask("alibaba");
  EXPECT_EQ(told.facts, (json{{"instance", "ecs.gn7e-c16g1.4xlarge"},
                              {"region", "cn-hangzhou"},
                              {"zone", "cn-hangzhou-i"},
                              {"instance_id", "i-bp1"},
                              {"spot", true},
                              {"interruption", {{"action", "release"}, {"at", "2026-11-30T17:03:00Z"}}}}));
  EXPECT_THAT(service.headers["GET /latest/dynamic/instance-identity/document"],
              ElementsAre("X-aliyun-ecs-metadata-token: token=="));
  for (const int code : {403, 404, 405}) {
    Service ordinary;
    ordinary.on("PUT /latest/api/token", answer(code))
        .on("GET /latest/dynamic/instance-identity/document", answer(200, document));
    const MetadataAnswer without = ordinary.ask("alibaba");
    EXPECT_EQ(without.status, "answered") << code;
    EXPECT_EQ(without.facts["instance"], "ecs.gn7e-c16g1.4xlarge");
    EXPECT_FALSE(without.facts.contains("spot")) << "404 for the notice does not say that it is no spot machine";
    EXPECT_THAT(ordinary.headers["GET /latest/dynamic/instance-identity/document"], ElementsAre());
  }
  Service silent;
  silent.on("PUT /latest/api/token", HttpAnswer{Kind::timed_out, 0, "", {}});
  EXPECT_EQ(silent.ask("alibaba").status, "no_answer");
  EXPECT_EQ(silent.asked.size(), 1u);
}

TEST(Metadata, Tencent) {
  const std::string at = "GET /latest/meta-data/";
  Service service;
  service.on(at + "instance/instance-type", answer(200, "GN10Xp.20XLARGE320"))
      .on(at + "placement/region", answer(200, "ap-shanghai"))
      .on(at + "placement/zone", answer(200, "ap-shanghai-2"))
      .on(at + "instance-id", answer(200, "ins-1"))
      .on(at + "payment/charge-type", answer(200, "POSTPAID_BY_HOUR"));
  EXPECT_EQ(service.ask("tencent").facts, (json{{"instance", "GN10Xp.20XLARGE320"},
                                                {"region", "ap-shanghai"},
                                                {"zone", "ap-shanghai-2"},
                                                {"instance_id", "ins-1"},
                                                {"spot", false},
                                                {"interruption", nullptr}}));
  EXPECT_THAT(service.headers[at + "placement/zone"], ElementsAre("Host: metadata.tencentyun.com"));
  service.on(at + "spot/termination-time", answer(200, "2026-11-30 12:05:33"));
  const json interruption = service.ask("tencent").facts["interruption"];
  EXPECT_EQ(interruption, (json{{"action", "release"}, {"at", "2026-11-30T12:05:33+08:00"}}));
}

TEST(Metadata, HuaweiAndOpenTelekomCloud) {
  Service service;
  service.on("GET /openstack/latest/meta_data.json",
             answer(200, R"({"uuid": "ca9e", "availability_zone": "cn-north-4a", "region_id": "cn-north-4",
                             "instance_type": "p2v.16xlarge.8", "meta": {"os_type": "Linux"}})"));
  for (const char* provider : {"huawei", "huawei-otc"})
    EXPECT_EQ(service.ask(provider).facts, (json{{"instance", "p2v.16xlarge.8"},
                                                 {"region", "cn-north-4"},
                                                 {"zone", "cn-north-4a"},
                                                 {"instance_id", "ca9e"},
                                                 {"interruption", nullptr}}));
  service.on("GET /openstack/latest/meta_data.json",
             answer(200, R"({"uuid": "ca9e", "meta": {"metering.resourcespeccode": "p2v.16xlarge.8.linux"}})"));
  EXPECT_EQ(service.ask("huawei").facts["instance"], "p2v.16xlarge.8");
}

TEST(Metadata, OciVersionTwo) {
  Service service;
  service.on("GET /opc/v2/instance/",
             answer(200, R"({"shape": "BM.GPU.H100.8", "region": "iad", "canonicalRegionName": "us-ashburn-1",
                             "availabilityDomain": "EMIr:US-ASHBURN-AD-1", "id": "ocid1.instance.oc1.iad.a"})"));
  EXPECT_EQ(service.ask("oci").facts, (json{{"instance", "BM.GPU.H100.8"},
                                            {"region", "us-ashburn-1"},
                                            {"zone", "EMIr:US-ASHBURN-AD-1"},
                                            {"instance_id", "ocid1.instance.oc1.iad.a"},
                                            {"interruption", nullptr}}));
  EXPECT_THAT(service.headers["GET /opc/v2/instance/"], ElementsAre("Authorization: Bearer Oracle"));
}

// Every answer cut at every byte: no crash, and never a wrong instance type.
TEST(Metadata, TruncatedDocuments) {
  const std::string whole = R"({"instanceType": "p5.48xlarge", "region": "us-east-2"})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const MetadataAnswer told =
        aws().on("GET /latest/dynamic/instance-identity/document", answer(200, whole.substr(0, size))).ask("aws");
    EXPECT_EQ(told.status, "nonsense") << size;
    EXPECT_FALSE(told.facts.contains("instance")) << size;
  }
}

TEST(PlatformFindings, TheHopLimitOfAContainer) {
  const json metadata = {{"service", "AWS IMDSv2"}, {"status", "no_answer"}, {"reason", "PUT had no answer in time"}};
  json platform = {{"instance", nullptr}, {"provider", "aws"}, {"metadata", metadata}};
  std::vector<Finding> findings = platform_findings(platform, {{"container", "docker"}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "metadata.hop_limit");
  EXPECT_EQ(findings[0].severity, "warning");
  EXPECT_THAT(findings[0].next_step, HasSubstr("--http-put-response-hop-limit 2"));
  platform["instance"] = "p5.48xlarge";
  findings = platform_findings(platform, {{"container", "none"}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "metadata.no_answer");
  EXPECT_EQ(findings[0].severity, "info");
}

TEST(PlatformFindings, NothingKnownIsNoFinding) {
  for (const json& platform : {json::object(), json{{"provider", nullptr}, {"certain", nullptr}, {"metadata", nullptr}},
                               json{{"provider", "aws"}, {"certain", true}, {"interruption", nullptr}}})
    EXPECT_TRUE(platform_findings(platform, json::object()).empty()) << platform;
}

TEST(PlatformFindings, AnInterruptionIsSaidLoudly) {
  const json platform = {{"instance", "p5.48xlarge"},
                         {"provider", "aws"},
                         {"metadata", {{"service", "AWS IMDSv2"}, {"status", "answered"}, {"reason", ""}}},
                         {"interruption", {{"action", "terminate"}, {"at", "2026-11-30T08:22:00Z"}}}};
  const auto findings = platform_findings(platform, json::object());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "platform.interruption");
  EXPECT_THAT(findings[0].text, HasSubstr("at 2026-11-30T08:22:00Z (terminate)"));
}

TEST(HowIdentified, SaysTheWays) {
  EXPECT_EQ(how_identified("aws"), "cloud-init, DMI, metadata");
  EXPECT_EQ(how_identified("huawei-otc"), "DMI, metadata");
  EXPECT_EQ(how_identified("runpod"), "environment (seller only)");
  EXPECT_EQ(how_identified("lambda"), "cloud-init (not certain)");
  EXPECT_EQ(how_identified("coreweave"), "--instance");
}

}  // namespace
}  // namespace claimcheck::probe
