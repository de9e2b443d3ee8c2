// Each format of `catalog import`: what a small list of it gives, and the traps known of it.
#include <fmt/format.h>

#include "tests/unit/import_support.h"

namespace claimcheck {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// The lists are written by hand in the shape of the public ones.

TEST_F(Imports, Gpuhunt) {
  options.as_of = "2026-11-01";
  const auto imported =
      import("gcp.csv",
             "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags\n"
             "a2-highgpu-8g,us-east1-b,29.5,96,680,8,A100,40.0,False,,nvidia,\n"
             "a2-highgpu-8g,us-east1-b,11.8,96,680,8,A100,40.0,True,,nvidia,\n"
             "a2-highgpu-8g,us-east1-c,12.25,96,680,8,A100,40.0,True,,nvidia,\n"
             "e2-standard-8,us-east1-b,0.27,8,32,0,,,False,,,\n"
             "v5litepod-8,us-east1,11.2,0,0,8,v5litepod-8,16.0,False,,google,\n"
             "n1-standard-4,us-east1-b,,4,15,1,T4,16.0,False,,nvidia,\n");
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("gcp:a2-highgpu-8g us-east1 on_demand 29.5 USD/instance-hour 2026-11-01",
                          "gcp:a2-highgpu-8g us-east1 spot 11.8 USD/instance-hour 2026-11-01",
                          "gcp:tpu-v5e (per chip) us-east1 on_demand 1.4 USD/chip-hour 2026-11-01"));
  EXPECT_THAT(refused(imported), IsEmpty());
  EXPECT_EQ(left_out(imported, "no accelerator in it"), 1U);
  EXPECT_EQ(imported.merged.added[1].price.note, "The lowest of several zones or offers; the highest is 12.25.");
  EXPECT_EQ(imported.merged.added[0].price.accelerator, "nvidia-a100-sxm-40");
  EXPECT_EQ(imported.merged.added[0].price.accelerator_count, 8);
  EXPECT_THAT(faults(imported), IsEmpty());
}

TEST_F(Imports, SkypilotTrapsOfGoogle) {
  options.as_of = "2026-11-01";
  const auto imported = import(
      "catalogs/v8/gcp/vms.csv",
      "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice\n"
      "a2-highgpu-1g,12.0,85.0,,,,us-east1,us-east1-b,0.73948,0.36975\n"
      ",,,A100,1,{'Gpus': [{'MemoryInfo': {'SizeInMiB': 40960}}]},us-east1,us-east1-b,2.93391,1.4341\n"
      ",,,tpu-v6e-256,1,tpu-v6e-256,asia-east1,asia-east1-c,700.0,700.0\n"
      ",,,tpu-v6e-256,1,tpu-v6e-256,us-west1,us-west1-c,691.2,345.6\n"
      ",,,tpu-v4-16,1,tpu-v4-16,us-central9,us-central9-b,25.76,\n");
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("gcp:tpu-v4 (per chip, pod slice) us-central9 on_demand 3.22 USD/chip-hour 2026-11-01",
                          "gcp:tpu-v6e (per chip) us-west1 on_demand 2.7 USD/chip-hour 2026-11-01",
                          "gcp:tpu-v6e (per chip) us-west1 spot 1.35 USD/chip-hour 2026-11-01"));
  EXPECT_THAT(refused(imported),
              UnorderedElementsAre(
                  AllOf(StartsWith("host only"), HasSubstr("gcp:a2-highgpu-1g us-east1 on_demand 0.73948")),
                  AllOf(StartsWith("host only"), HasSubstr("spot 0.36975")),
                  AllOf(StartsWith("700 stands for an unknown price"), HasSubstr("tpu-v6e-256 asia-east1 on_demand")),
                  AllOf(StartsWith("700 stands for an unknown price"), HasSubstr("tpu-v6e-256 asia-east1 spot"))));
  EXPECT_EQ(left_out(imported, "an accelerator without its machine"), 2U);
}

TEST_F(Imports, SkypilotSpotPricesThatAreNone) {
  options.as_of = "2026-11-01";
  const auto imported = import("aws/vms.csv",
                               "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,"
                               "Region,AvailabilityZone,Arch\n"
                               "p5.48xlarge,H100,8.0,192.0,2048.0,\"{'Gpus': [{'Name': 'H100', 'Count': 8}], 'x': "
                               "1}\",55.04,55.04,eu-x-1,a,x86_64\n"
                               "p5.48xlarge,H100,8.0,192.0,2048.0,,55.04,5.504,eu-x-1,b,x86_64\n"
                               "p5.48xlarge,H100,8.0,192.0,2048.0,,55.04,17.2,eu-x-1,c,x86_64\n"
                               "p5.48xlarge,H100,1.0,192.0,2048.0,,6.88,,eu-x-2,c,x86_64\n"
                               "p4d.24xlarge,H100,8,96.0,1152.0,,21.96,0.00,eu-x-2,c,x86_64\n"
                               "g5.xlarge,A10G,1,4,16,,zero,0,eu-x-2,c,x86_64\n");
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("aws:p5.48xlarge eu-x-1 on_demand 55.04 USD/instance-hour 2026-11-01",
                          "aws:p5.48xlarge eu-x-1 spot 17.2 USD/instance-hour 2026-11-01"));
  EXPECT_THAT(
      refused(imported),
      ElementsAre(AllOf(StartsWith("the spot price is not below on demand"), HasSubstr("spot 55.04")),
                  AllOf(StartsWith("the spot price is exactly a tenth"), HasSubstr("spot 5.504")),
                  AllOf(StartsWith("another number of accelerators"), HasSubstr("(1.0 in the list, 8 in the catalog)")),
                  AllOf(StartsWith("another accelerator than"), HasSubstr("H100 in the list, nvidia-a100-sxm-40")),
                  AllOf(StartsWith("the price is no number"), HasSubstr("g5.xlarge"))));
}

TEST_F(Imports, KarpenterOfAmazon) {
  const auto imported = import("zz_generated.pricing_aws.go",
                               "//go:build !ignore\n\n/*\nLicensed {under\n*/\n\npackage pricing\n\n"
                               "// generated at 2026-10-05T13:06:44Z for us-east-1\n\n"
                               "var InitialOnDemandPricesAWS = map[string]map[string]float64{\n"
                               "\t\"eu-y-1\": {\n\t\t// p5 family\n"
                               "\t\t\"c5.large\": 0.085000, \"p5.48xlarge\": 55.040000, \"g4dn.xlarge\": 0.526000,\n"
                               "\t},\n\t\"cn-north-1\": {\n\t\t\"p3.16xlarge\": 171.5,\n\t},\n}\n");
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("aws:g4dn.xlarge eu-y-1 on_demand 0.526 USD/instance-hour 2026-10-05",
                          "aws:p3.16xlarge cn-north-1 on_demand 171.5 CNY/instance-hour 2026-10-05",
                          "aws:p5.48xlarge eu-y-1 on_demand 55.04 USD/instance-hour 2026-10-05"));
  EXPECT_EQ(left_out(imported, "no machine of the catalog"), 1U);
  EXPECT_THAT(
      file_text(imported, "sources.json"),
      HasSubstr("\"id\":\"import-karpenter-aws-2026-10-05\",\"title\":\"karpenter provider: price table, aws, as "
                "imported\",\"date\":\"2026-10-05\",\"licence\":\"Apache-2.0\""));
  EXPECT_THAT(faults(imported), IsEmpty());
}

TEST_F(Imports, KarpenterOfAzureAndTheMeterOfWindows) {
  const auto imported = import("zz_generated.pricing.go",
                               "package pricing\n\nimport \"time\"\n\n// generated at 2026-10-18T14:34:50Z\n\n"
                               "var initialPriceUpdate, _ = time.Parse(time.RFC3339, \"2026-10-18T14:34:50Z\")\n"
                               "var initialOnDemandPrices = map[string]map[string]float64{}\n\n"
                               "func init() {\n\t// westnowhere\n"
                               "\tinitialOnDemandPrices[\"westnowhere\"] = map[string]float64{\n"
                               "\t\t\"Standard_NC48ads_A100_v4\": 7.346000,\n"
                               "\t\t\"Standard_NC48ads_A100_v4\": 9.554000,\n"
                               "\t\t\"Standard_A1\":              0.071000,\n\t}\n\n"
                               "\tinitialOnDemandPrices[\"eastus\"] = map[string]float64{\n"
                               "\t\t\"Standard_NC24ads_A100_v4\": 4.777000,\n\t}\n}\n");
  // 48 vCPUs: 7.346 + 48 x 0.046 = 9.554. The catalog has 3.673 for 24 vCPUs in eastus: 3.673 + 24 x 0.046 = 4.777.
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("azure:Standard_NC48ads_A100_v4 westnowhere on_demand 7.346 USD/instance-hour 2026-10-18"));
  EXPECT_THAT(refused(imported), UnorderedElementsAre(AllOf(HasSubstr("a meter of Windows"), HasSubstr("9.554")),
                                                      AllOf(HasSubstr("a meter of Windows"), HasSubstr("4.777"))));
  EXPECT_THAT(imported.merged.added[0].price.note, IsEmpty());
}

TEST_F(Imports, KarpenterOfGoogle) {
  options.as_of = "2026-11-01";
  const auto imported = import("initial-prices.json",
                               "{\"prices\": {\n \"us-new1\": {\n  \"on_demand\": {\"a2-highgpu-1g\": 3.673385, "
                               "\"e2-medium\": 0.03},\n  \"spot\": {\"a2-highgpu-1g\": 1.9}}}}");
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("gcp:a2-highgpu-1g us-new1 on_demand 3.673385 USD/instance-hour 2026-11-01",
                          "gcp:a2-highgpu-1g us-new1 spot 1.9 USD/instance-hour 2026-11-01"));
  EXPECT_EQ(imported.merged.added[0].place.line, 3U);
  EXPECT_EQ(imported.merged.added[1].place.line, 4U);
}

TEST_F(Imports, KarpenterOfAlibabaIsInYuanWithZeroAndHalvedPrices) {
  options.as_of = "2026-11-01";
  const auto imported = import("initial-on-demand-prices.json",
                               "{\"cn-new\": {\n\"ecs.gn6v-c8g1.2xlarge\": 26.46,\n\"ecs.gn6v-c8g1.8xlarge\": 57.15,\n"
                               "\"ecs.gn6v-c8g1.16xlarge\": 211.68,\n\"ecs.gn6i-c4g1.xlarge\": 0,\n"
                               "\"ecs.g6.large\": 1.1\n}}");
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("alibaba:ecs.gn6v-c8g1.16xlarge cn-new on_demand 211.68 CNY/instance-hour 2026-11-01",
                          "alibaba:ecs.gn6v-c8g1.2xlarge cn-new on_demand 26.46 CNY/instance-hour 2026-11-01"));
  EXPECT_THAT(refused(imported),
              UnorderedElementsAre(AllOf(StartsWith("a price of 0"), HasSubstr("ecs.gn6i-c4g1.xlarge")),
                                   AllOf(HasSubstr("three quarters of other sizes"), HasSubstr("57.15"))));
}

TEST_F(Imports, Cyclenerd) {
  const auto imported = import("pricing.yml",
                               "---\nabout:\n  copyright: |2\n\n    Copyright\n  generated: Thu Oct  1 03:53:56 2026\n"
                               "  timestamp: 1790826836\ncompute:\n  instance:\n    a3-highgpu-8g:\n      cost:\n"
                               "        us-new1:\n          hour: 88.49\n          hour_spot: 50.5\n"
                               "          month: 51677.0\n          month_1y: 44810.32\n          month_3y: 28370.72\n"
                               "      cpu: 208\n      h100: 8\n    e2-medium:\n      cost:\n        us-new1:\n"
                               "          hour: 0.03\n  storage:\n    ssd: 1\n");
  // 44810.32 / 730 = 61.384; 28370.72 / 730 = 38.864. `month`, with a discount for sustained use, is not taken.
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("gcp:a3-highgpu-8g us-new1 on_demand 88.49 USD/instance-hour 2026-10-01",
                          "gcp:a3-highgpu-8g us-new1 spot 50.5 USD/instance-hour 2026-10-01",
                          "gcp:a3-highgpu-8g us-new1 reserved_1y no_upfront 61.384 USD/instance-hour 2026-10-01",
                          "gcp:a3-highgpu-8g us-new1 reserved_3y no_upfront 38.864 USD/instance-hour 2026-10-01"));
  EXPECT_EQ(imported.merged.added[0].place.line, 13U);
}

TEST_F(Imports, VantageHasTheReservedPricesOfAmazon) {
  options.as_of = "2026-11-01";
  const auto imported = import(
      "instances.json",
      "[{\"GPU\": 8, \"instance_type\": \"p5.48xlarge\", \"pricing\": {\"us-east-1\": {\"linux\": {\"ondemand\": "
      "\"55.04\",\n\"reserved\": {\"yrTerm1Standard.noUpfront\": \"39.2\", \"yrTerm1Standard.partialUpfront\": "
      "\"37.5\", "
      "\"yrTerm1Standard.allUpfront\": \"36.7\", \"yrTerm3Standard.allUpfront\": \"25.1\", "
      "\"yrTerm1Convertible.noUpfront\": \"41\"},\n\"spot_avg\": \"18.5\", \"spot_max\": \"20\", \"pct_interrupt\": "
      "\"<5%\"}, \"mswin\": {\"ondemand\": \"63.872\"}}}},\n"
      "{\"pricing\": {\"us-east-2\": {\"linux\": {\"ondemand\": \"0\"}, \"linuxSQL\": {\"ondemand\": 1}}}, "
      "\"instance_type\": \"p5e.48xlarge\"},\n"
      "{\"instance_type\": \"m5.large\", \"pricing\": {\"us-east-1\": {\"linux\": {\"ondemand\": \"0.096\"}}}}]\n");
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("aws:p5.48xlarge us-east-1 reserved_1y all_upfront 36.7 USD/instance-hour 2026-11-01",
                          "aws:p5.48xlarge us-east-1 reserved_1y no_upfront 39.2 USD/instance-hour 2026-11-01",
                          "aws:p5.48xlarge us-east-1 reserved_1y partial_upfront 37.5 USD/instance-hour 2026-11-01",
                          "aws:p5.48xlarge us-east-1 reserved_3y all_upfront 25.1 USD/instance-hour 2026-11-01"));
  EXPECT_THAT(texts(imported.merged.confirmed),
              ElementsAre("aws:p5.48xlarge us-east-1 on_demand 55.04 USD/instance-hour 2026-11-01"));
  EXPECT_THAT(refused(imported),
              ElementsAre(AllOf(StartsWith("a price of 0"), HasSubstr("aws:p5e.48xlarge us-east-2 on_demand 0"))));
  EXPECT_EQ(left_out(imported, "of another operating system than Linux"), 2U);
  EXPECT_EQ(left_out(imported, "no machine of the catalog"), 1U);
  // The line that said "unknown" goes when the price is known.
  EXPECT_THAT(file_text(catalog.empty() ? imported : imported, "prices/aws.csv"),
              Not(HasSubstr("p5.48xlarge,us-east-1,reserved_1y,,")));
  EXPECT_THAT(faults(imported), IsEmpty());
}

// ---- whose prices

TEST_F(Imports, TheProviderIsInTheNameOrOnTheCommandLine) {
  const std::string rows =
      "InstanceType,AcceleratorName,AcceleratorCount,Price,Region\ngpu_8x_h100_sxm5,H100,8,23.5,us-new-1\n";
  EXPECT_THAT(error("prices.csv", rows), HasSubstr("the catalog knows no provider \"prices\""));
  options.provider = "LambdaLabs";
  EXPECT_THAT(texts(import("prices.csv", rows).merged.added),
              ElementsAre("lambda:gpu_8x_h100_sxm5 us-new-1 on_demand 23.5 USD/instance-hour undated"));
  options.provider = "../x";
  EXPECT_THAT(error("prices.csv", rows), HasSubstr("\"../x\" is no name of a provider"));
}

TEST_F(Imports, MachinesOutsideTheCatalogCountByTheirAccelerator) {
  options.provider = "nebius";
  options.as_of = "2026-11-01";
  const auto imported = import("vms.csv",
                               "InstanceType,AcceleratorName,AcceleratorCount,Price,Region\n"
                               "gpu-h200-sxm_8gpu,H200 SXM,8,28,eu-north1\n"
                               "gpu-half,H200 SXM,0.5,1.75,eu-north1\n"
                               "mystery,Quantum-9,8,28,eu-north1\n"
                               "per-gpu,H200 SXM,8,3.5,eu-north1\n");
  EXPECT_THAT(texts(imported.merged.added),
              ElementsAre("nebius:gpu-h200-sxm_8gpu eu-north1 on_demand 28 USD/instance-hour 2026-11-01"));
  EXPECT_EQ(imported.merged.added[0].price.accelerator, "nvidia-h200-sxm-141");
  EXPECT_EQ(left_out(imported, "a share of an accelerator, or an unknown number of them"), 1U);
  EXPECT_EQ(left_out(imported, "neither the machine nor (by one name) its accelerator is in the catalog"), 1U);
  EXPECT_THAT(refused(imported), ElementsAre(AllOf(StartsWith("far from its peers in the catalog: per GPU against per"),
                                                   HasSubstr("nebius:per-gpu"), HasSubstr("card-hour"))));
}

}  // namespace
}  // namespace claimcheck
