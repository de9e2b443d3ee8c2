// NVML's answers as facts: a library with few functions, a lost GPU, one that fails, a MIG instance; and the watch.
#include "kernels/cuda/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "kernels/cuda/device.h"
#include "kernels/cuda/nvml_words.h"
#include "kernels/cuda/platform_facts.h"

namespace claimcheck::kernels::cuda {
namespace {

using Table = std::map<std::string, Fact>;

Table table(const Facts& facts) {
  Table result;
  for (const auto& [name, fact] : facts) {
    EXPECT_EQ(result.count(name), 0U) << name << " is there twice";
    result[name] = fact;
  }
  return result;
}

template <class Value>
void expect(const Table& facts, const std::string& name, const Value& value) {
  ASSERT_EQ(facts.count(name), 1U) << name;
  EXPECT_EQ(facts.at(name), Fact(value)) << name;
}

void expect_unknown(const Table& facts, const std::string& name) {
  ASSERT_EQ(facts.count(name), 1U) << name;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(facts.at(name))) << name;
}

class NvmlTest : public testing::Test {
 protected:
  NvmlOpened opened_ = open_nvml(CLAIMCHECK_FAKE_NVML);
};

TEST_F(NvmlTest, AnswersBecomeFacts) {
  ASSERT_TRUE(opened_.nvml) << opened_.reason;
  EXPECT_EQ(opened_.nvml->driver_version(), Fact(std::string("virtual-470.1")));
  EXPECT_EQ(opened_.nvml->device_count(), 3);
  const NvmlDevice* device = opened_.nvml->find("healthy", "");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->uuid(), "GPU-healthy");
  const Table sample = table(device->sample());
  expect(sample, "power_w", 71.5);
  expect(sample, "sm_clock_mhz", std::int64_t{1410});
  expect(sample, "memory_clock_mhz", std::int64_t{1215});
  expect(sample, "throttle_mask", std::int64_t{0x44});
  expect(sample, "ecc_corrected", std::int64_t{3});
  expect(sample, "ecc_uncorrected", std::int64_t{0});
  const Table identity = table(device->identity());
  expect(identity, "nvlink_links", std::int64_t{12});
  expect(identity, "nvlink_links_active", std::int64_t{10});
  expect(identity, "nvlink_version", std::string("3.0"));
  expect(identity, "fabric_state", std::string("completed"));
  expect(identity, "fabric_degraded_bandwidth", false);
  expect(identity, "fabric_spans_machines", false);
  EXPECT_EQ(identity.count("mig_instance"), 0U);
}

TEST_F(NvmlTest, OtherProcessesErrorsAndClocks) {
  const Table identity = table(opened_.nvml->find("healthy", "")->identity());
  expect(identity, "other_processes", std::int64_t{1});
  expect(identity, "application_clock_mhz", std::int64_t{1095});
  expect_unknown(identity, "application_clock_default_mhz");  // the library lacks it
  expect(identity, "ecc_uncorrected", std::int64_t{0});
  expect(identity, "ecc_uncorrected_lifetime", std::int64_t{0});
  const Table sick = table(opened_.nvml->find("sick", "")->identity());
  expect_unknown(sick, "other_processes");
  expect(sick, "no_permission", std::string("other_processes"));
  expect_unknown(sick, "ecc_uncorrected_lifetime");
}

TEST(PlatformFacts, ListsOfCpus) {
  EXPECT_EQ(cpus_of_list("0-2,8"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_EQ(cpus_of_list("5"), (std::vector<int>{5}));
  EXPECT_TRUE(cpus_of_list("").empty());
  EXPECT_TRUE(cpus_of_list("2-1").empty());
  EXPECT_TRUE(cpus_of_list("x").empty());
  EXPECT_EQ(near_cpus(-1, true), Fact());
}

TEST_F(NvmlTest, MissingFunctionsAreUnknownAndNoComplaint) {
  const NvmlDevice* device = opened_.nvml->find("", "0000:17:00.0");
  ASSERT_NE(device, nullptr);
  const Table identity = table(device->identity());
  for (const char* name : {"power_limit_w", "power_limit_default_w", "power_limit_max_w", "max_sm_clock_mhz",
                           "ecc_enabled", "row_remaps_correctable", "row_remap_failed", "retired_pages_pending",
                           "pcie_width", "pcie_max_generation", "mig_enabled", "virtualization", "compute_mode"})
    expect_unknown(identity, name);
  for (const char* name : {"gpu_lost", "no_permission", "failed_queries"}) EXPECT_EQ(identity.count(name), 0U) << name;
  expect_unknown(table(device->sample()), "temperature_c");
  expect_unknown(table(device->sample()), "memory_temperature_c");
}

TEST_F(NvmlTest, ALostGpuIsAFact) {
  const Table sample = table(opened_.nvml->find("lost", "")->sample());
  expect(sample, "gpu_lost", true);
  expect_unknown(sample, "power_w");
  expect_unknown(sample, "sm_clock_mhz");
}

TEST_F(NvmlTest, FailuresAndRefusalsAreNamed) {
  const Table sample = table(opened_.nvml->find("sick", "")->sample());
  expect(sample, "failed_queries", std::string("power_w"));
  expect(sample, "no_permission", std::string("sm_clock_mhz,memory_clock_mhz"));
  expect_unknown(sample, "throttle_mask");
  EXPECT_EQ(opened_.nvml->find("sick", "")->nvlink_ends(), std::nullopt);
}

TEST_F(NvmlTest, AMigInstanceHasTheSensorsOfItsGpu) {
  const NvmlDevice* device = opened_.nvml->find("slice", "0000:17:00.0");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->uuid(), "MIG-slice");
  expect(table(device->identity()), "mig_instance", true);
  expect_unknown(table(device->identity()), "mig_memory_mib");
  expect(table(device->sample()), "power_w", 71.5);
}

TEST_F(NvmlTest, EndsOfNvLinks) {
  const auto ends = opened_.nvml->find("healthy", "")->nvlink_ends();
  ASSERT_TRUE(ends);
  ASSERT_EQ(ends->size(), 10U);
  EXPECT_EQ((*ends)[0], "00000000:2A:00.0");
  EXPECT_EQ((*ends)[1], "switch");
}

TEST_F(NvmlTest, UnknownDevicesAreNull) { EXPECT_EQ(opened_.nvml->find("other", "0000:99:00.0"), nullptr); }

TEST(Nvml, AMissingLibraryIsAReason) {
  const NvmlOpened opened = open_nvml("libnvidia-ml-that-is-not-there.so.1");
  EXPECT_EQ(opened.nvml, nullptr);
  EXPECT_THAT(opened.reason, testing::HasSubstr("libnvidia-ml-that-is-not-there.so.1"));
}

TEST(NvmlWords, ThrottleNames) {
  EXPECT_EQ(nvml::throttle_names(0), "");
  EXPECT_EQ(nvml::throttle_names(0x1), "gpu_idle");
  EXPECT_EQ(nvml::throttle_names(0x84), "sw_power_cap,hw_power_brake");
  EXPECT_EQ(nvml::throttle_names(0x1ff),
            "gpu_idle,application_clocks,sw_power_cap,hw_slowdown,sync_boost,sw_thermal_slowdown,hw_thermal_slowdown,"
            "hw_power_brake,display_clock");
  EXPECT_EQ(nvml::throttle_names(0x1004), "sw_power_cap,0x1000");
  EXPECT_FALSE(nvml::is_throttle_fault(0x4 | 0x1 | 0x2));  // a power cap is what full load looks like
  EXPECT_TRUE(nvml::is_throttle_fault(0x4 | 0x40));
  EXPECT_TRUE(nvml::is_throttle_fault(0x8));
}

TEST(NvmlWords, OtherCodes) {
  EXPECT_EQ(nvml::virtualization_name(2), "vgpu");
  EXPECT_EQ(nvml::virtualization_name(9), "code 9");
  EXPECT_EQ(nvml::compute_mode_name(3), "exclusive_process");
  EXPECT_EQ(nvml::fabric_state_name(2), "in_progress");
  EXPECT_EQ(nvml::nvlink_version_name(6), "4.0");
  EXPECT_EQ(nvml::nvlink_version_name(0), "");
}

// Idle at first, then at work.
class Scripted final : public NvmlDevice {
 public:
  Facts identity() const override { return {}; }
  std::string uuid() const override { return "GPU-scripted"; }
  std::optional<std::vector<std::string>> nvlink_ends() const override { return std::nullopt; }
  Facts sample() const override {
    const bool idle = calls_++ == 0;
    return {{"sm_clock_mhz", std::int64_t{idle ? 345 : 1755}},
            {"power_w", idle ? 80.5 : 692.25},
            {"temperature_c", std::int64_t{idle ? 31 : 58}},
            {"throttle_mask", std::int64_t{idle ? 0x1 : 0x44}},
            {"pcie_width", std::int64_t{idle ? 16 : 8}},
            {"ecc_corrected", std::int64_t{idle ? 7 : 9}},
            {"ecc_uncorrected", Fact()},
            {idle ? "unrelated" : "gpu_lost", true}};
  }

 private:
  mutable int calls_ = 0;
};

TEST(Watch, SumsUpWhatTheSensorsSaid) {
  Scripted sensors;
  Gpu gpu;
  gpu.sensors = &sensors;
  const std::unique_ptr<Watch> watch = make_watch(gpu);
  const Table facts = table(watch->stop());
  EXPECT_GE(std::get<std::int64_t>(facts.at("samples")), 2);  // one at each end, however short
  expect(facts, "sm_clock_mhz", 1755.0);
  expect(facts, "sm_clock_lowest_mhz", 1755.0);  // 345 MHz was before the work
  expect(facts, "power_highest_w", 692.25);
  expect(facts, "temperature_lowest_c", 31.0);
  expect(facts, "temperature_highest_c", 58.0);
  expect_unknown(facts, "memory_temperature_c");
  expect(facts, "throttle_mask", std::int64_t{0x45});
  expect(facts, "throttle_reasons", std::string("gpu_idle,sw_power_cap,hw_thermal_slowdown"));
  EXPECT_GE(std::get<std::int64_t>(facts.at("samples_in_slowdown")), 1);
  expect(facts, "pcie_width_lowest", std::int64_t{8});
  expect(facts, "pcie_width_highest", std::int64_t{16});
  expect(facts, "ecc_corrected_new", std::int64_t{2});
  expect_unknown(facts, "ecc_uncorrected_new");
  expect(facts, "gpu_lost", true);
}

TEST(Watch, WithoutSensorsSaysSo) {
  const Table facts = table(make_watch(Gpu{})->stop());
  EXPECT_EQ(facts.count("sm_clock_mhz"), 0U);
  EXPECT_THAT(std::get<std::string>(facts.at("sensors")), testing::HasSubstr("NVML"));
}

}  // namespace
}  // namespace claimcheck::kernels::cuda
