// The claims that the shipped catalog makes: of every accelerator and platform, and by hand of the p5 (8 x H100 SXM).
#include "harness/judge/data_sheet.h"

#include <map>
#include <set>

#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;

const Catalog& shipped() {
  static const Catalog catalog = load_catalog();
  return catalog;
}

std::map<std::string, Claim> claims_of(const std::string& id) {
  const Platform* platform = shipped().find_platform(id);
  EXPECT_NE(platform, nullptr) << id;
  std::map<std::string, Claim> claims;
  if (platform == nullptr) return claims;
  for (const Claim& claim : platform_claims(*platform, shipped())) claims[claim.id] = claim;
  return claims;
}

TEST(DataSheet, OfAP5) {
  const auto claims = claims_of("aws:p5.48xlarge");
  const std::string sheet = "data_sheet:nvidia-h100-sxm-80:";
  const std::string row = "platform:aws:p5.48xlarge:";
  const struct {
    std::string id;
    double value;
    const char* unit;
    nlohmann::json definition;
  } rows[] = {
      {sheet + "gemm.bf16.tflops", 989, "TFLOPS", {{"density", "dense"}, {"kind", "peak"}, {"per", "device"}}},
      {sheet + "gemm.int8.tops", 1979, "TOPS", {{"density", "dense"}}},
      {sheet + "memory.read.gbps", 3350, "GB/s", {{"prefix", "decimal"}, {"per", "device"}}},
      {sheet + "identity.interconnect_gbps", 900, "GB/s", {{"direction", "both"}, {"links", "NVLink4"}}},
      {sheet + "p2p.read.gbps", 900, "GB/s", {{"direction", "both"}, {"kind", "peak"}}},
      {sheet + "host_link.h2d.gbps", 63, "GB/s", {{"direction", "one"}, {"links", "PCIe 5.0 x16"}}},
      {sheet + "host_link.d2h.gbps", 63, "GB/s", {{"direction", "one"}, {"kind", "peak"}}},
      {row + "accelerator_memory_gb", 80, "GB", {{"prefix", "decimal"}, {"per", "device"}}},
      {row + "ram_gib", 2048, "GiB", {{"prefix", "binary"}}},
      {row + "local_nvme_gb", 30400, "GB", {{"prefix", "decimal"}}},
      {row + "network_gbps", 3200, "Gb/s", {{"per", "node"}, {"direction", "one"}, {"network_kind", "EFA"}}},
      {row + "network.efa.gbps", 12.5, "GB/s", {{"per", "adapter"}, {"printed", "3200 Gb/s a node, 32 adapters"}}},
  };
  for (const auto& expected : rows) {
    ASSERT_TRUE(claims.contains(expected.id)) << expected.id;
    const Claim& claim = claims.at(expected.id);
    EXPECT_EQ(claim.value.get<double>(), expected.value) << expected.id;
    EXPECT_EQ(claim.unit, expected.unit) << expected.id;
    for (const auto& [name, value] : expected.definition.items())
      EXPECT_EQ(claim.definition[name], value) << expected.id;
    EXPECT_FALSE(claim.source["text"].get<std::string>().empty()) << expected.id;
  }
}

TEST(DataSheet, LinksThatAPairHasNotToItselfAreNotClaimedOfAPair) {
  const auto mesh = claims_of("aws:p3.16xlarge");
  EXPECT_EQ(mesh.at("data_sheet:nvidia-v100-sxm2-16:identity.interconnect_gbps").value, 300);
  EXPECT_FALSE(mesh.contains("data_sheet:nvidia-v100-sxm2-16:p2p.read.gbps"));
  EXPECT_EQ(mesh.at("data_sheet:nvidia-v100-sxm2-16:host_link.h2d.gbps").value, 15.75);
  EXPECT_TRUE(claims_of("azure:Standard_NC48ads_A100_v4").contains("data_sheet:nvidia-a100-pcie-80:p2p.read.gbps"));
  EXPECT_FALSE(claims_of("azure:Standard_NC96ads_A100_v4").contains("data_sheet:nvidia-a100-pcie-80:p2p.read.gbps"))
      << "two pairs";
  EXPECT_FALSE(claims_of("aws:p5.4xlarge").contains("data_sheet:nvidia-h100-sxm-80:identity.interconnect_gbps"))
      << "one GPU";
  EXPECT_FALSE(claims_of("aws:g6.48xlarge").contains("data_sheet:nvidia-l4:identity.interconnect_gbps")) << "PCIe only";
}

// Whatever the catalog says: no claim without a number, a source and a definition, and none of what is not known.
TEST(DataSheet, EveryPlatformAndAccelerator) {
  std::size_t claims = 0;
  const auto check = [&](const std::vector<Claim>& made, const std::string& whose) {
    std::set<std::string> ids;
    for (const Claim& claim : made) {
      ++claims;
      EXPECT_TRUE(ids.insert(claim.id).second) << claim.id << " twice of " << whose;
      EXPECT_FALSE(claim.value.is_null()) << claim.id;
      if (claim.value.is_number()) {
        EXPECT_GT(claim.value.get<double>(), 0) << claim.id;
      }
      EXPECT_EQ(claim.definition["comparison"], "claim") << claim.id;
      EXPECT_TRUE(claim.source.contains("text")) << claim.id << " has no source";
    }
  };
  const auto has = [](const std::vector<Claim>& made, const std::string& metric) {
    return std::any_of(made.begin(), made.end(), [&](const Claim& claim) { return claim.metric == metric; });
  };
  for (const Platform& platform : shipped().platforms) {
    const auto made = platform_claims(platform, shipped());
    check(made, platform.id);
    EXPECT_EQ(has(made, "identity.network_gbps"), platform.network_gbps.has_value()) << platform.id;
    EXPECT_EQ(has(made, "identity.ram_gib"), platform.ram_gib.has_value()) << platform.id;
    EXPECT_EQ(has(made, "identity.accelerator_count"), platform.accelerator_count.has_value()) << platform.id;
    EXPECT_EQ(has(made, "identity.local_nvme_gb"), platform.local_nvme_gb.value_or(0) > 0) << platform.id;
  }
  for (const Accelerator& card : shipped().accelerators) {
    const auto made = data_sheet_claims(card, nullptr, shipped());
    check(made, card.id);
    EXPECT_EQ(has(made, "memory.read.gbps"), card.memory_bandwidth_gbps.has_value()) << card.id;
    EXPECT_EQ(has(made, "identity.interconnect_gbps"), card.interconnect_gbps.has_value()) << card.id;
    EXPECT_EQ(has(made, "host_link.h2d.gbps"), card.record["pcie_gen"].is_number()) << card.id;
  }
  EXPECT_GT(claims, shipped().platforms.size() * 8);
}

Measurement alone(const std::string& metric, double value) {
  Measurement measurement = measured(metric.substr(0, metric.rfind('.')), metric, "GB/s", six(value));
  for (int i = 0; i < 8; ++i) measurement.devices.push_back({i, "NVIDIA H100 80GB HBM3", value});
  measurement.conditions.update({{"devices_at_once", 1}, {"engine", "ce"}, {"link", "nvlink"}});
  return measurement;
}

TEST(DataSheet, LinksAreHeldToWhatHealthyOnesCarryOneWay) {
  Document document = made::gpu_node();
  document.measurements = {alone("p2p.read.gbps", 393), alone("host_link.h2d.gbps", 55.3)};
  auto verdicts = all_verdicts(document, {}, shipped());
  const std::string of_peers = "data_sheet:nvidia-h100-sxm-80:p2p.read.gbps";
  const std::string of_host = "data_sheet:nvidia-h100-sxm-80:host_link.h2d.gbps";
  const Verdict* peer = find(verdicts, of_peers);
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(peer->kind, VerdictKind::met);
  // 382.5 / 450 = 85 % of the catalog's two machines, less 10 %: 344.25 GB/s.
  EXPECT_NEAR(peer->claim.definition["line"].get<double>(), 344.25, 1e-9);
  EXPECT_NEAR(share_of_claim(*peer).value(), 393.0 / 450, 1e-12);
  EXPECT_THAT(peer->reason, AllOf(HasSubstr("393 GB/s is 87.3 % of the claimed 450 GB/s"),
                                  HasSubstr("900 GB/s counts both directions, 450 GB/s is one"),
                                  HasSubstr("450 GB/s is the line rate, of which healthy links carry 85.0 %")));
  ASSERT_NE(find(verdicts, of_host), nullptr);
  EXPECT_EQ(find(verdicts, of_host)->kind, VerdictKind::met);
  document.measurements = {alone("p2p.read.gbps", 340), alone("host_link.h2d.gbps", 27.7)};
  verdicts = all_verdicts(document, {}, shipped());
  EXPECT_EQ(find(verdicts, of_peers)->kind, VerdictKind::not_met);
  EXPECT_EQ(find(verdicts, of_host)->kind, VerdictKind::not_met) << "PCIe 4.0";
}

TEST(DataSheet, APlatformThatWiresLessThanTheSheetSays) {
  Document document = made::gpu_node();
  document.platform = {{"provider", "gcp"}, {"instance", "a3-highgpu-8g"}};
  document.measurements = {alone("host_link.h2d.gbps", 27.7)};
  const auto verdicts = all_verdicts(document, {}, shipped());
  const Verdict* host = find(verdicts, "data_sheet:nvidia-h100-sxm-80:host_link.h2d.gbps");
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(host->kind, VerdictKind::not_met);
  EXPECT_EQ(host->meaning["kind"], "claim_too_high") << "27.7 GB/s is typical of every a3-highgpu-8g";
}

// ---- what the machine says of its links and adapters

Document with_links(int active, const char* version = "4.0") {
  Document document = made::gpu_node();
  for (nlohmann::json& device : document.system["devices"])
    device["facts"] = {{"nvlink_links", 18}, {"nvlink_links_active", 18}, {"nvlink_version", version}};
  document.system["devices"][3]["facts"]["nvlink_links_active"] = active;
  return document;
}

TEST(IdentityLinks, OfTheGpuWithTheFewest) {
  const Verdict whole = verdict_on(with_links(18), "identity.interconnect_gbps>=900");
  EXPECT_EQ(whole.kind, VerdictKind::met);
  EXPECT_EQ(whole.attained, 900);
  const Verdict less = verdict_on(with_links(17), "identity.interconnect_gbps>=900");
  EXPECT_EQ(less.kind, VerdictKind::contradicted);
  EXPECT_EQ(less.attained, 850);
  EXPECT_THAT(less.reason, HasSubstr("17 of 18 NVLinks of 25 GB/s each way are active on GPU 3"));
  EXPECT_EQ(verdict_on(with_links(18, "5.0"), "identity.interconnect_gbps>=1800").kind, VerdictKind::met);
  EXPECT_EQ(verdict_on(made::gpu_node(), "identity.interconnect_gbps>=900").kind, VerdictKind::not_measured);
}

Document with_adapters(int count, const char* kind, double gbit) {
  Document document = made::gpu_node();
  nlohmann::json nics = {{{"name", "eth0"}, {"kind", "ethernet"}, {"speed_gbps", 100}}};
  for (int i = 0; i < count; ++i)
    nics.push_back({{"name", "n" + std::to_string(i)}, {"kind", kind}, {"speed_gbps", gbit}});
  document.system["nics"] = nics;
  return document;
}

TEST(IdentityLinks, InfiniBandByTheLineRatesOfItsAdapters) {
  const Platform* platform = shipped().find_platform("azure:Standard_ND96isr_H100_v5");
  ASSERT_NE(platform, nullptr);
  std::vector<Claim> claims = platform_claims(*platform, shipped());
  std::erase_if(claims, [](const Claim& claim) { return claim.metric != "identity.network_gbps"; });
  ASSERT_EQ(claims.size(), 1U);
  const auto on = [&](const Document& document) { return judge(document, claims, shipped()).front(); };
  EXPECT_EQ(on(with_adapters(8, "infiniband", 400)).kind, VerdictKind::met);
  const Verdict less = on(with_adapters(7, "infiniband", 400));
  EXPECT_EQ(less.kind, VerdictKind::contradicted);
  EXPECT_THAT(less.reason, HasSubstr("the 7 adapters that are up carry 2800 Gb/s by their own word, 3200 Gb/s sold"));
  EXPECT_EQ(on(with_adapters(8, "infiniband", 0)).kind, VerdictKind::not_measured);
  EXPECT_EQ(on(with_adapters(0, "infiniband", 400)).kind, VerdictKind::not_measured) << "ethernet is not what was sold";
}

TEST(IdentityLinks, EfaAdaptersAreCounted) {
  const Claim sold = claims_of("aws:p5en.48xlarge").at("platform:aws:p5en.48xlarge:network_gbps");
  // 16 adapters of 200 Gb/s which all call themselves 100.
  const Verdict all = judge(with_adapters(16, "efa", 100), {sold}, shipped()).front();
  EXPECT_EQ(all.kind, VerdictKind::not_measured);
  EXPECT_THAT(all.reason, HasSubstr("all 16 EFA adapters are here"));
  const Verdict less = judge(with_adapters(15, "efa", 100), {sold}, shipped()).front();
  EXPECT_EQ(less.kind, VerdictKind::contradicted);
  EXPECT_EQ(less.attained, 3000);
}

TEST(IdentityLinks, MemoryOfOneAndOfAll) {
  Document document = made::gpu_node();
  for (nlohmann::json& device : document.system["devices"]) device["memory_bytes"] = 81559.0 * 1048576;
  EXPECT_EQ(verdict_on(document, "identity.accelerator_memory_gb>=80").kind, VerdictKind::met);
  const Verdict node = verdict_on(document, "identity.accelerator_memory_gb>=640");
  EXPECT_EQ(node.kind, VerdictKind::contradicted);
  ASSERT_EQ(node.diagnosis.size(), 1U);
  EXPECT_THAT(node.diagnosis[0], AllOf(HasSubstr("640 GB is what 8 accelerators have together"), HasSubstr(">=80'")));
}

TEST(IdentityLinks, BinaryUnitsOfDisks) {
  Document document = made::gpu_node();
  for (int i = 0; i < 8; ++i)
    document.system["disks"].push_back({{"name", "nvme" + std::to_string(i) + "n1"}, {"bytes", 3.8e12}});
  EXPECT_EQ(verdict_on(document, "identity.local_nvme_gb>=30.4 TB").kind, VerdictKind::met);
  const Verdict binary = verdict_on(document, "identity.local_nvme_gb>=30.4 TiB");  // 33425 GB
  EXPECT_EQ(binary.kind, VerdictKind::contradicted);
  ASSERT_EQ(binary.diagnosis.size(), 1U);
  EXPECT_THAT(binary.diagnosis[0], HasSubstr("30.4 TiB takes decimal digits for a binary unit: 30.4 TB are here"));
}

}  // namespace
}  // namespace claimcheck
