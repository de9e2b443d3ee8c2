// A soak made by hand, in segments: series put together, first minute against last, verdict, report.
#include "harness/evidence/soak.h"

#include "harness/evidence/derived.h"
#include "harness/judge/soak.h"
#include "harness/report/text.h"
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;
using nlohmann::json;
using testing::SizeIs;

constexpr double usual = 700;

// Minute `number` of `of`: a sample every ten seconds. `rates` are those of each device through the minute.
Measurement minute(int number, int of, const std::vector<double>& rates, const json& more = json::object()) {
  Measurement segment = measured("soak/segment:" + std::to_string(number), "soak.gemm.tflops", "TFLOPS",
                                 six(*std::min_element(rates.begin(), rates.end())));
  segment.conditions = {{"segment", number}, {"segments", of}, {"segment_seconds", 60.0}, {"method", "soak/1"}};
  json seconds = json::array();
  for (int i = 1; i <= 6; ++i) seconds.push_back(10.0 * i);
  json devices = json::array();
  for (std::size_t i = 0; i < rates.size(); ++i) {
    json device = {{"index", i}, {"tflops", json::array()}};
    for (int sample = 0; sample < 6; ++sample) device["tflops"].push_back(rates[i] + sample);
    device.update(more);
    devices.push_back(device);
    segment.devices.push_back({static_cast<int>(i), "NVIDIA H100 80GB HBM3", rates[i]});
  }
  segment.evidence["series"] = {{"seconds", seconds}, {"devices", devices}};
  return segment;
}

json all(double value) { return json(std::vector<double>(6, value)); }

Document soak(const std::vector<Measurement>& segments) {
  Document document = made::gpu_node();
  document.measurements = segments;
  return document;
}

TEST(soak, segments_are_one_series) {
  const Document document = soak({minute(2, 3, {690}), minute(1, 3, {700}), minute(3, 3, {680})});
  const auto soaks = soaks_of(document);
  ASSERT_THAT(soaks, SizeIs(1));
  EXPECT_EQ(soaks[0].benchmark, "soak");
  EXPECT_THAT(soaks[0].seconds, SizeIs(18));
  EXPECT_EQ(soaks[0].seconds.front(), 10);
  EXPECT_EQ(soaks[0].seconds.back(), 180);
  EXPECT_EQ(soaks[0].window_seconds, 60);
  ASSERT_THAT(soaks[0].devices, SizeIs(1));
  const Column& rates = soaks[0].devices[0].columns.at("tflops");
  EXPECT_EQ(rates[0], 700);  // of segment 1, though it stands second
  EXPECT_EQ(rates[17], 685);
  // Samples at 10 ... 60 s: 700 ... 705. At 120 s, within the last window, too: 695; then 680 ... 685.
  const auto windows = windows_of(soaks[0], soaks[0].devices[0], "tflops");
  ASSERT_TRUE(windows);
  EXPECT_DOUBLE_EQ(windows->first, 702.5);
  EXPECT_DOUBLE_EQ(windows->last, 683);
}

TEST(soak, a_lost_segment_leaves_a_gap_and_the_rest_counts) {
  const auto soaks = soaks_of(soak({minute(1, 3, {700}), minute(3, 3, {700})}));
  ASSERT_THAT(soaks, SizeIs(1));
  EXPECT_EQ(soaks[0].measured, 2);
  EXPECT_EQ(soaks[0].segments, 3);
  EXPECT_EQ(soaks[0].seconds[6], 130);
}

TEST(soak, one_that_sags_is_unstable_and_named) {
  const json cool = {{"sm_clock_mhz", all(1755)}, {"temperature_c", all(62)}, {"throttle_mask", all(4)}};
  const json hot = {{"sm_clock_mhz", all(1400)}, {"temperature_c", all(88)}, {"throttle_mask", all(4 + 0x40)}};
  Document document = soak({minute(1, 4, {usual, usual}, cool), minute(2, 4, {usual, usual}, cool),
                            minute(3, 4, {usual, 560}, hot), minute(4, 4, {usual, 560}, hot)});
  derive(document, {});
  ASSERT_THAT(document.measurements, SizeIs(5));
  const Measurement& kept = document.measurements.back();
  EXPECT_EQ(kept.metric, "soak.gemm.retention");
  EXPECT_EQ(kept.status, Outcome::unstable);
  EXPECT_NEAR(*kept.value, 563.0 / 702.5, 1e-9);
  EXPECT_EQ(kept.reason, "device 1 fell from 702 to 563 TFLOPS between the first and the last 60 s");
  ASSERT_THAT(kept.devices, SizeIs(2));
  EXPECT_NEAR(*kept.devices[0].value, 703.0 / 702.5, 1e-9);
  EXPECT_EQ(kept.evidence["windows"][1]["temperature_c"], json({62, 88}));
  EXPECT_EQ(kept.evidence["windows"][1]["throttle_faults"], "hw_thermal_slowdown");

  const auto verdicts = soak_verdicts(document);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].kind, VerdictKind::not_met);
  EXPECT_THAT(verdicts[0].reason, HasSubstr("unstable"));
  ASSERT_THAT(verdicts[0].diagnosis, SizeIs(1));
  EXPECT_THAT(verdicts[0].diagnosis[0],
              AllOf(HasSubstr("GPU 1 kept 80.1 %"), HasSubstr("1755 to 1400 MHz"), HasSubstr("62 to 88 C"),
                    HasSubstr("slowed down by heat (hw_thermal_slowdown)")));
  EXPECT_EQ(exit_code(verdicts, document, false), ExitCode::not_met);

  derive(document, {});  // again: the same, not twice
  EXPECT_THAT(document.measurements, SizeIs(5));
  // The last window begins with the last sample of the third minute: 565, 560 ... 565.
  const std::string report = report::soak_text(document, {.width = 160});
  EXPECT_THAT(report, AllOf(HasSubstr("soak device 1"), HasSubstr("702 > 563"), HasSubstr("80.1 %"),
                            HasSubstr("1755 > 1400"), HasSubstr("4 of 4 segments")));
}

TEST(soak, a_steady_one_is_met_and_an_unsteady_one_does_not_sag) {
  Document steady = soak({minute(1, 3, {usual}), minute(2, 3, {usual}), minute(3, 3, {675})});  // 3.8 % less
  derive(steady, {});
  EXPECT_EQ(steady.measurements.back().status, Outcome::ok);
  ASSERT_THAT(soak_verdicts(steady), SizeIs(1));
  EXPECT_EQ(soak_verdicts(steady)[0].kind, VerdictKind::met);

  // A third of the first minute's samples is as low as the last minute: that is how this device always was.
  Document unsteady = steady;
  unsteady.measurements = {minute(1, 3, {usual}), minute(2, 3, {usual}), minute(3, 3, {600})};
  json& first = unsteady.measurements[0].evidence["series"]["devices"][0]["tflops"];
  first = {590, 700, 592, 700, 700, 595};
  derive(unsteady, {});
  EXPECT_EQ(unsteady.measurements.back().metric, "soak.gemm.retention");
  EXPECT_LT(*unsteady.measurements.back().value, 0.95);
  EXPECT_EQ(unsteady.measurements.back().status, Outcome::ok);
}

TEST(soak, what_is_not_known_is_no_sag_and_no_zero) {
  Document document = soak({minute(1, 3, {usual}), minute(2, 3, {usual}), minute(3, 3, {usual})});
  for (Measurement& segment : document.measurements)
    segment.evidence["series"]["devices"][0]["power_w"] = json(std::vector<json>(6, nullptr));
  const Soak whole = soaks_of(document).at(0);
  EXPECT_FALSE(windows_of(whole, whole.devices[0], "power_w"));
  EXPECT_FALSE(windows_of(whole, whole.devices[0], "sm_clock_mhz"));
  EXPECT_FALSE(bits_of_last(whole, whole.devices[0], "throttle_mask"));
  EXPECT_THAT(report::soak_text(document, {.width = 160}), HasSubstr("unknown"));

  document.measurements.resize(1);
  json& series = document.measurements[0].evidence["series"];
  series["seconds"] = {3, 6, 9};
  series["devices"][0]["tflops"] = {700, 650, 500};  // one sample in each window says nothing
  derive(document, {});
  EXPECT_THAT(document.measurements, SizeIs(1));
  EXPECT_THAT(soak_verdicts(document), IsEmpty());
}

TEST(soak, series_of_strangers_do_no_harm) {
  for (const json& series :
       {json(nullptr), json::array(), json{{"seconds", 1}}, json{{"seconds", json::array()}, {"devices", {1, "x"}}},
        json{{"seconds", {1, nullptr}}, {"devices", {{{"index", 0}, {"tflops", {"a"}}}}}}}) {
    Document document = soak({minute(1, 1, {usual})});
    document.measurements[0].evidence["series"] = series;
    derive(document, {});
    EXPECT_THAT(document.measurements, SizeIs(1)) << series;
  }
}

TEST(soak, a_power_cap_is_no_fault) {
  EXPECT_EQ(throttle_faults(0x4), "");
  EXPECT_EQ(throttle_faults(0x4 | 0x8 | 0x20), "hw_slowdown,sw_thermal_slowdown");
}

}  // namespace
}  // namespace claimcheck
