// What documents made by hand say is wrong with their machine: each kind there, not there, and not known.
#include <set>

#include "harness/findings/kinds.h"
#include "harness/findings/machine.h"
#include "harness/judge/findings.h"
#include "harness/result/document.h"
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;
using nlohmann::json;
using testing::SizeIs;
using testing::StartsWith;

// Of two H100; device 1 has these facts beside.
Document node(const json& facts = json::object()) {
  Document document = made::gpu_node();
  json devices = json::array();
  for (int i = 0; i < 2; ++i)
    devices.push_back({{"index", i},
                       {"name", "NVIDIA H100 80GB HBM3"},
                       {"memory_bytes", 85.0e9},
                       {"free_memory_bytes", 84.5e9},
                       {"facts", {{"pci_bus_id", i == 0 ? "0000:10:00.0" : "0000:11:00.0"}}}});
  devices[1]["facts"].update(facts);
  document.system["devices"] = devices;
  return document;
}

Measurement sensed(const std::string& id, const std::string& metric, double value, const json& second) {
  Measurement measurement = measured(id, metric, metric.ends_with(".tflops") ? "TFLOPS" : "GB/s", six(value));
  for (int i = 0; i < 2; ++i) measurement.devices.push_back({i, "NVIDIA H100 80GB HBM3", value});
  measurement.evidence["devices"] = {json::object(), second};
  return measurement;
}

Document with_sensors(const json& second, const json& facts = json::object()) {
  Document document = node(facts);
  document.measurements = {sensed("gemm.bf16/n:8192", "gemm.bf16.tflops", 700, second)};
  return document;
}

const Finding* of_kind(const std::vector<Finding>& findings, const std::string& kind) {
  for (const Finding& finding : findings)
    if (finding.id == kind) return &finding;
  return nullptr;
}

Catalog catalog_with(const std::string& memory_type) {
  Catalog catalog;
  Accelerator accelerator;
  accelerator.id = "nvidia-h100-sxm";
  accelerator.name = "NVIDIA H100 80GB HBM3";
  accelerator.vendor = "NVIDIA";
  accelerator.record = {{"memory_type", memory_type}, {"pcie_gen", 5}, {"pcie_lanes", 16}};
  catalog.accelerators = {accelerator};
  return catalog;
}

struct Case {
  const char* kind;
  Document there;
  Document absent;   // the facts are known and good
  Document unknown;  // null, not told
  std::string detail;
};

std::vector<Case> cases() {
  const json slow = {{"throttle_reasons", "sw_power_cap,hw_thermal_slowdown"},
                     {"samples_in_slowdown", 4},
                     {"samples", 10},
                     {"temperature_highest_c", 91}};
  const json clocks = {{"throttle_reasons", "application_clocks"}, {"sm_clock_highest_mhz", 1200}};
  return {
      {"gpu.throttled", with_sensors(slow), with_sensors({{"throttle_reasons", "sw_power_cap"}, {"samples", 10}}),
       with_sensors({{"throttle_reasons", nullptr}, {"samples_in_slowdown", nullptr}}),
       "hw_thermal_slowdown in 40 % of the time of gemm.bf16/n:8192, up to 91 C"},
      {"gpu.ecc_errors", with_sensors({{"ecc_uncorrected_new", 2}}, {{"ecc_uncorrected", 2}}),
       with_sensors({{"ecc_uncorrected_new", 0}}, {{"ecc_uncorrected", 0}, {"ecc_uncorrected_lifetime", 0}}),
       with_sensors({{"ecc_uncorrected_new", nullptr}}, {{"ecc_uncorrected", nullptr}}),
       "2 while it was measured, 2 since the driver was loaded, 0 in its life"},
      {"gpu.bad_memory", node({{"row_remap_pending", true}, {"row_remaps_uncorrectable", 3}}),
       node({{"row_remap_pending", false}, {"row_remaps_uncorrectable", 0}, {"retired_pages_pending", false}}),
       node({{"row_remap_pending", nullptr}, {"row_remaps_uncorrectable", nullptr}}),
       "a bad row is replaced at the next reset only, 3 rows replaced after uncorrectable errors"},
      {"gpu.power_limit", node({{"power_limit_w", 400}, {"power_limit_default_w", 700}}),
       node({{"power_limit_w", 700}, {"power_limit_default_w", 700}}),
       node({{"power_limit_w", 400}, {"power_limit_default_w", nullptr}}), "400 W in place of 700 W"},
      {"gpu.clocks_low", node({{"application_clock_mhz", 900}, {"application_clock_default_mhz", 1312}}),
       node({{"application_clock_mhz", 1312}, {"application_clock_default_mhz", 1312}, {"max_sm_clock_mhz", 1530}}),
       node({{"application_clock_mhz", nullptr}, {"application_clock_default_mhz", 1312}}),
       "application clock 900 MHz, its default is 1312 MHz"},
      {"gpu.clocks_low", with_sensors(clocks, {{"max_sm_clock_mhz", 1980}}),
       // A power cap holds it as well: that is no setting.
       with_sensors({{"throttle_reasons", "application_clocks,sw_power_cap"}, {"sm_clock_highest_mhz", 1200}},
                    {{"max_sm_clock_mhz", 1980}}),
       with_sensors(clocks), "never above 1200 of 1980 MHz in gemm.bf16/n:8192"},
      {"gpu.persistence_off", node({{"persistence_mode", false}}), node({{"persistence_mode", true}}),
       node({{"persistence_mode", nullptr}}), "GPU 1 (0000:11:00.0)"},
      {"gpu.slice", node({{"mig_instance", true}, {"mig_multiprocessors", 16}}),
       node({{"virtualization", "passthrough"}}), node({{"virtualization", nullptr}}),
       "a MIG instance of 16 multiprocessors"},
      {"gpu.slice", node({{"virtualization", "vgpu"}}), node({{"virtualization", "none"}}), node(), "a vGPU"},
      {"gpu.in_use", node({{"other_processes", 2}}), node({{"other_processes", 0}}),
       node({{"other_processes", nullptr}}), "2 other processes"},
      {"gpu.numa_far", node({{"near_cpus", 48}, {"near_cpus_usable", 0}, {"numa_node", 1}}),
       node({{"near_cpus", 48}, {"near_cpus_usable", 48}}),
       node({{"near_cpus", nullptr}, {"near_cpus_usable", nullptr}}), "none of the 48 CPUs of its NUMA node 1"},
      {"gpu.nvlink_down", node({{"nvlink_links", 18}, {"nvlink_links_active", 16}}),
       node({{"nvlink_links", 18}, {"nvlink_links_active", 18}}),
       node({{"nvlink_links", nullptr}, {"nvlink_links_active", nullptr}}), "16 of 18 links are up"},
      {"gpu.fabric", node({{"fabric_state", "in_progress"}}), node({{"fabric_state", "completed"}}),
       node({{"fabric_state", nullptr}}), "not joined (in_progress)"},
  };
}

TEST(machine_findings, each_is_there_is_not_there_and_is_never_made_of_what_is_unknown) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.kind);
    const auto findings = machine_findings(one.there, {});
    const Finding* finding = of_kind(findings, one.kind);
    ASSERT_NE(finding, nullptr);
    EXPECT_THAT(findings, SizeIs(1)) << "one fault, one finding";
    EXPECT_THAT(finding->text,
                AllOf(HasSubstr("GPU 1 (0000:11:00.0)"), HasSubstr(one.detail), Not(HasSubstr("GPU 0"))));
    EXPECT_TRUE(finding->text.ends_with("."));
    EXPECT_EQ(finding->evidence["devices"][0]["device"], 1);
    EXPECT_FALSE(finding->cause.empty());
    EXPECT_FALSE(finding->next_step.empty());
    EXPECT_THAT(finding->next_step, Not(HasSubstr("{device}")));
    EXPECT_EQ(of_kind(machine_findings(one.absent, {}), one.kind), nullptr);
    EXPECT_EQ(of_kind(machine_findings(one.unknown, {}), one.kind), nullptr);
  }
}

TEST(machine_findings, a_healthy_machine_and_a_cpu_have_none) {
  EXPECT_THAT(machine_findings(node(), {}), IsEmpty());
  Document cpu = made::cpu_machine();
  cpu.system["devices"][0]["facts"] = {{"persistence_mode", false}};
  EXPECT_THAT(machine_findings(cpu, {}), IsEmpty());
  Document odd;
  odd.system = {{"devices", {1, {{"index", "x"}}, {{"index", 0}, {"facts", 3}}}}};
  EXPECT_THAT(machine_findings(odd, {}), IsEmpty());
}

TEST(machine_findings, a_moment_of_slowdown_is_none) {
  const auto moments = [](int slowed) {
    return with_sensors({{"throttle_reasons", "hw_slowdown"}, {"samples_in_slowdown", slowed}, {"samples", 100}});
  };
  EXPECT_EQ(of_kind(machine_findings(moments(4), {}), "gpu.throttled"), nullptr);
  EXPECT_NE(of_kind(machine_findings(moments(5), {}), "gpu.throttled"), nullptr);
}

TEST(machine_findings, the_same_of_all_is_said_once) {
  Document document = made::gpu_node();
  for (json& device : document.system["devices"])
    device["facts"] = {{"power_limit_w", 500}, {"power_limit_default_w", 700}};
  const auto findings = machine_findings(document, {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].text,
            "The power limit is below its default: GPU 0, GPU 1, GPU 2, GPU 3 and 4 more; 500 W in place of 700 W.");
  EXPECT_THAT(findings[0].evidence["devices"], SizeIs(8));
  EXPECT_THAT(findings[0].next_step, HasSubstr("nvidia-smi -i 0 -q -d POWER"));
}

TEST(machine_findings, memory_that_is_gone_before_the_run_is_somebody_elses) {
  Document document = node();
  document.system["devices"][1]["free_memory_bytes"] = 60.0e9;
  const auto findings = machine_findings(document, {});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "gpu.in_use");
  EXPECT_THAT(findings[0].text, HasSubstr("23.3 of 79.2 GiB taken before the run"));  // 25e9 and 85e9 / 2^30
  document.system["devices"][1]["free_memory_bytes"] = nullptr;
  EXPECT_THAT(machine_findings(document, {}), IsEmpty());
}

TEST(machine_findings, ecc_costs_bandwidth_on_gddr_only) {
  const Document document = node({{"ecc_enabled", true}});
  EXPECT_NE(of_kind(machine_findings(document, catalog_with("GDDR6")), "gpu.ecc_gddr"), nullptr);
  EXPECT_EQ(of_kind(machine_findings(document, catalog_with("HBM3")), "gpu.ecc_gddr"), nullptr);
  EXPECT_EQ(of_kind(machine_findings(document, {}), "gpu.ecc_gddr"), nullptr);
  EXPECT_EQ(of_kind(machine_findings(node({{"ecc_enabled", nullptr}}), catalog_with("GDDR6")), "gpu.ecc_gddr"),
            nullptr);
}

// Generation 5 with 16 lanes carries 63 GB/s; 70 % of it are 44.1.
Document copies(double gbps, const json& at_once, const json& state) {
  Document document = node({{"pcie_gpu_max_generation", 5}});
  Measurement measurement = sensed("host_link.h2d/each", "host_link.h2d.gbps", 55, state);
  *measurement.devices[1].value = gbps;
  measurement.conditions = {{"devices_at_once", at_once}, {"engine", "ce"}};
  document.measurements = {measurement};
  return document;
}

TEST(machine_findings, pcie_is_judged_by_rate_and_explained_by_the_links_state) {
  const Catalog catalog = catalog_with("HBM3");
  const json narrow = {{"pcie_width_highest", 8}, {"pcie_generation", 5}};
  const json whole = {{"pcie_width_highest", 16}, {"pcie_generation", 5}};
  const auto found = machine_findings(copies(26, 1, narrow), catalog);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "gpu.pcie_slow");
  EXPECT_THAT(found[0].text, HasSubstr("26.0 GB/s of 63.0 GB/s that its link carries (8 of 16 lanes under load)"));
  // Slow all the same with a whole link; not slow, whatever an idle link says of itself.
  EXPECT_NE(of_kind(machine_findings(copies(40, 1, whole), catalog), "gpu.pcie_slow"), nullptr);
  EXPECT_EQ(of_kind(machine_findings(copies(45, 1, {{"pcie_generation", 1}}), catalog), "gpu.pcie_slow"), nullptr);
  // All at once an uplink may be shared: only the link's own state tells.
  EXPECT_EQ(of_kind(machine_findings(copies(26, "all", whole), catalog), "gpu.pcie_slow"), nullptr);
  EXPECT_NE(of_kind(machine_findings(copies(26, "all", narrow), catalog), "gpu.pcie_slow"), nullptr);
  // What the GPU could do is not known.
  Document unknown = copies(26, 1, narrow);
  unknown.system["devices"][1]["facts"].erase("pcie_gpu_max_generation");
  EXPECT_EQ(of_kind(machine_findings(unknown, {}), "gpu.pcie_slow"), nullptr);
}

Document pairs(double together) {
  Document document = made::gpu_node();
  Measurement measurement = measured("host_link.pairs", "host_link.pairs.gbps", "GB/s", six(together));
  json matrix = json::array();
  for (int i = 0; i < 4; ++i) {
    measurement.devices.push_back({i, "", std::nullopt});
    json row = json::array();
    for (int j = 0; j < 4; ++j) row.push_back(i == j ? json(nullptr) : json(i / 2 == j / 2 ? together : 25.0));
    matrix.push_back(row);
  }
  measurement.evidence = {{"alone_gbps", {25.0, 25.0, 25.0, 25.0}}, {"pairs_at_once_gbps", matrix}};
  document.measurements = {measurement};
  return document;
}

TEST(machine_findings, uplinks_are_found_by_pairs) {
  const auto found = machine_findings(pairs(12.6), {});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "link.uplink_shared");
  EXPECT_EQ(found[0].text,
            "GPUs share a link to the host: GPUs 0 and 1 (25.0 GB/s each alone, 12.6 GB/s two at once); GPUs 2 and 3 "
            "(25.0 GB/s each alone, 12.6 GB/s two at once).");
  EXPECT_EQ(found[0].evidence["groups"], json({{0, 1}, {2, 3}}));
  EXPECT_THAT(machine_findings(pairs(20), {}), IsEmpty());
  Document unknown = pairs(12.6);
  unknown.measurements[0].evidence["pairs_at_once_gbps"] = nullptr;
  EXPECT_THAT(machine_findings(unknown, {}), IsEmpty());
}

TEST(machine_findings, peers_out_of_reach) {
  Document document = node();
  document.system["software"]["worker"] = {{"gpu0_peer_access_to", {1, 0}}, {"gpu1_peer_access_to", {0, 1}}};
  const auto found = machine_findings(document, {});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].text,
              AllOf(HasSubstr("GPU 0 (0000:10:00.0), not GPU 1"), HasSubstr("GPU 1 (0000:11:00.0), not GPU 0")));
  document.system["software"]["worker"] = {{"gpu0_peer_access_to", {1, 1}}, {"gpu1_peer_access_to", nullptr}};
  EXPECT_THAT(machine_findings(document, {}), IsEmpty());
}

TEST(machine_findings, corruption_names_the_gpu) {
  Document document = node();
  Measurement soak = unmeasured("soak/segment:3", "soak.gemm.tflops", Outcome::wrong_result, "GPU 1 gave other bits");
  for (int i = 0; i < 2; ++i) soak.devices.push_back({i, "", std::nullopt});
  soak.evidence = {{"devices", {json::object(), json::object()}},
                   {"corruption", {{{"device", 1}, {"operation", "matrix product"}, {"words", 1}, {"seconds", 31.4}}}}};
  document.measurements = {soak};
  const auto found = machine_findings(document, {});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "gpu.corrupt");
  EXPECT_EQ(found[0].severity, "error");
  document.measurements[0].evidence.erase("devices");  // found before anything was sensed
  EXPECT_EQ(machine_findings(document, {})[0].text, found[0].text);
  EXPECT_THAT(found[0].text,
              HasSubstr("GPU 1 (0000:11:00.0), a word of 8 bytes in a matrix product of soak/segment:3, 31 s"));
}

TEST(finding_kinds, every_section_of_the_page_is_whole_and_every_finding_has_one) {
  std::set<std::string> ids;
  for (const FindingKind& kind : finding_kinds()) {
    EXPECT_TRUE(ids.insert(kind.id).second) << kind.id << " twice";
    for (const std::string* text : {&kind.when, &kind.cause, &kind.next_step}) EXPECT_GT(text->size(), 15U) << kind.id;
  }
  // Those that other parts make, beside the ones above.
  for (const char* id : {"gpu.left_out:3",
                         "gpu.slow:1",
                         "gpu.differ",
                         "process.slow:2",
                         "node.slow:0",
                         "node.differ",
                         "link.slow:1-2",
                         "network.slow:0-1",
                         "transport.gpu_direct",
                         "transport.nvls",
                         "gpu.no_driver",
                         "gpu.not_visible",
                         "shm.small",
                         "cpu.steal",
                         "cpu.quota",
                         "cpu.affinity",
                         "memory.swap",
                         "memory.low",
                         "memory.limit",
                         "metadata.hop_limit",
                         "metadata.no_answer",
                         "metadata.refused",
                         "metadata.disabled",
                         "metadata.odd",
                         "platform.changed",
                         "platform.interruption",
                         "platform.guess",
                         "startup.running",
                         "startup.errors"})
    EXPECT_NE(find_kind(id), nullptr) << id;
  EXPECT_EQ(find_kind("gpu.nothing"), nullptr);
  EXPECT_THROW(finding_of_kind("gpu.nothing", "", {}), std::logic_error);
}

TEST(finding_kinds, a_section_that_lacks_something_is_named) {
  const auto error = [](const std::string& page) -> std::string {
    try {
      kinds_of(page);
    } catch (const std::invalid_argument& failure) {
      return failure.what();
    }
    return "";
  };
  EXPECT_THAT(error("## a.b\n\ntext\n"), HasSubstr("a.b: no \"**Seen by"));
  EXPECT_THAT(error("## a.b\n\n**Seen by (info).** x\n\n**Next step.** y\n"),
              HasSubstr("a.b: no \"**Likely cause.**\""));
  const auto kinds =
      kinds_of("## a.b, c.d\n\n**Seen by (error).** x\ny\n\n**Likely cause.** b\n\n**Next step.** c  d\n");
  ASSERT_THAT(kinds, SizeIs(2));
  EXPECT_EQ(kinds[1].id, "c.d");
  EXPECT_EQ(kinds[1].when, "x y");
  EXPECT_EQ(kinds[1].next_step, "c d");
}

TEST(measured_findings, judging_again_replaces_them_and_the_probes_stay) {
  Document document = node({{"persistence_mode", false}});
  document.findings = {{"shm.small", "warning", "small", "", json::object()}};
  for (int again = 0; again < 2; ++again) replace_measured_findings(document, measured_findings(document, {}));
  ASSERT_THAT(document.findings, SizeIs(2));
  EXPECT_EQ(document.findings[0].id, "shm.small");
  EXPECT_THAT(document.findings[0].cause, HasSubstr("container"));
  EXPECT_EQ(document.findings[1].id, "gpu.persistence_off");
  const Finding back = document_from(to_json(document)).findings[1];
  EXPECT_EQ(back.cause, document.findings[1].cause);
}

}  // namespace
}  // namespace claimcheck
