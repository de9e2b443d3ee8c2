// Reports: the facts a reader needs are there, lines fit the screen, and nothing in a file can steer the terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <sstream>

#include "harness/error.h"
#include "harness/report/format.h"
#include "harness/report/layout.h"
#include "harness/report/quantity.h"
#include "harness/report/sanitise.h"
#include "harness/report/text.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Document example() {
  return read_document(std::filesystem::path(CLAIMCHECK_SOURCE_DIR) / "results-schema/examples/result-host.json");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The line that contains all of `parts`; empty when there is none.
std::string line_with(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& line : lines_of(text)) {
    const auto has = [&](const std::string& part) { return line.find(part) != std::string::npos; };
    if (std::all_of(parts.begin(), parts.end(), has)) return line;
  }
  return {};
}

Measurement measured(const std::string& id, const std::string& metric, double value, const std::string& unit) {
  Measurement measurement;
  measurement.id = id;
  measurement.metric = metric;
  measurement.value = value;
  measurement.unit = unit;
  measurement.status = Outcome::ok;
  measurement.statistics = Statistics{value, value * 0.98, value * 1.01, 0.012, std::nullopt, {value, value}};
  return measurement;
}

TEST(quantity, three_digits_four_from_a_thousand) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(3350), "3350");
  EXPECT_EQ(number_text(12345.6), "12350");
  EXPECT_EQ(number_text(735840), "735800");
  EXPECT_EQ(number_text(612.4), "612");
  EXPECT_EQ(number_text(99.95001), "100");
  EXPECT_EQ(number_text(999.6), "1000");
  EXPECT_EQ(number_text(9999.6), "10000");
  EXPECT_EQ(number_text(21.957642), "22.0");
  EXPECT_EQ(number_text(9.996), "10.0");
  EXPECT_EQ(number_text(5.42), "5.42");
  EXPECT_EQ(number_text(0.1955), "0.196");
  EXPECT_EQ(number_text(0.01234), "0.0123");
  EXPECT_EQ(number_text(-4.6), "-4.60");
  EXPECT_EQ(number_text(0.00001234), "1.23e-05");
  EXPECT_EQ(number_text(1e300 * 10), "1.00e+301");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "unknown");
}

TEST(quantity, units_are_never_lost) {
  EXPECT_EQ(quantity_text(3121, "GB/s"), "3121 GB/s");
  EXPECT_EQ(quantity_text(0.9412, "1"), "94.1 %");
  EXPECT_EQ(quantity_text(1.0, "1"), "100 %");
  EXPECT_EQ(range_text(0.9, 0.95, "1"), "90.0 .. 95.0 %");
  EXPECT_EQ(range_text(10.11, 10.4, "GB/s"), "10.1 .. 10.4");
  EXPECT_EQ(percent_text(0.0123), "1.2 %");
  EXPECT_EQ(percent_text(0.99949), "99.9 %");
  EXPECT_EQ(percent_text(0.9996), "100 %");
}

TEST(quantity, memory_is_counted_in_binary_units) {
  EXPECT_EQ(binary_bytes_text(8), "8 B");
  EXPECT_EQ(binary_bytes_text(65536), "64 KiB");
  EXPECT_EQ(binary_bytes_text(1 << 30), "1 GiB");
  EXPECT_EQ(binary_bytes_text(80e9), "74.5 GiB");  // 80 GB as sold
  EXPECT_EQ(binary_bytes_text(2.0 * 1024 * 1024 * 1024 * 1024), "2 TiB");
}

TEST(quantity, cases_are_named_by_what_sets_them_apart) {
  EXPECT_EQ(case_text(measured("memory.triad", "", 1, "")), "");
  EXPECT_EQ(case_text(measured("gemm.fp32/n:4096", "", 1, "")), "n 4096");
  EXPECT_EQ(case_text(measured("allreduce/ranks:2,bytes:67108864", "", 1, "")), "2 ranks, 64 MiB");
  EXPECT_EQ(case_text(measured("scaling.memory/ranks:1", "", 1, "")), "1 rank");
  EXPECT_EQ(case_text(measured("gemm.bf16/zeros", "", 1, "")), "zeros");
  EXPECT_EQ(case_text(measured("allreduce/bytes:1048576/in_place", "", 1, "")), "1 MiB, in place");
  EXPECT_EQ(case_text(measured("gemm.fp32/m:8192,n:6144,k:4096", "", 1, "")), "m 8192, n 6144, k 4096");
  EXPECT_EQ(case_text(measured("x/bytes:99999999999999999999", "", 1, "")), "bytes 99999999999999999999");
}

TEST(layout, widths_are_columns_not_bytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("ünï·"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);  // e and a combining acute accent
  EXPECT_EQ(display_width("云计算"), 6U);
  EXPECT_EQ(display_width("🚀"), 2U);
  EXPECT_EQ(display_width("\x1b[31mred\x1b[0m"), 3U);
  EXPECT_EQ(shortened("abcdef", 4), "abc…");
  EXPECT_EQ(shortened("云计算", 4), "云…");  // half a character is none
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abc", 1), "…");
  EXPECT_EQ(shortened("abc", 0), "");
  EXPECT_EQ(padded("é", 3), "é  ");
  EXPECT_EQ(padded("é", 3, true), "  é");
}

TEST(layout, text_is_wrapped_at_blanks) {
  EXPECT_THAT(wrapped("one two  three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("abcdefghij kl", 4), ElementsAre("abcd", "efgh", "ij", "kl"));
  EXPECT_THAT(wrapped("云计算 x", 4), ElementsAre("云计", "算 x"));
  EXPECT_THAT(wrapped("", 4), ElementsAre(""));
  EXPECT_THAT(wrapped("  ", 4), ElementsAre(""));
  EXPECT_EQ(labelled("machine", "a b c", 10, 13), "machine   a b\n          c\n");
}

TEST(layout, tables_line_up_and_fit) {
  Table table({{"name"}, {"value", true, 8}});
  table.add({{"ünï"}, {"1"}});
  table.add({{"a"}, {"123456789"}});
  table.note("a note over the whole width", 3);
  EXPECT_EQ(table.render(20, false),
            " name     value\n ünï          1\n a     1234567…\n   a note over the\n   whole width\n");
  Table plain({{"x"}});
  plain.add({{"bad", Colour::bad}});
  EXPECT_THAT(plain.render(20, true), HasSubstr("\x1b[31mbad\x1b[0m"));
  EXPECT_THAT(plain.render(20, false), Not(HasSubstr("\x1b")));
}

TEST(sanitise, control_characters_do_not_reach_the_terminal) {
  const std::string fffd = "\xEF\xBF\xBD";
  EXPECT_EQ(sanitised_text("plain ünï 云 🚀"), "plain ünï 云 🚀");
  EXPECT_EQ(sanitised_text("a\nb\tc\rd"), "a b c d");
  EXPECT_EQ(sanitised_text("\x1b[2J\x1b]0;title\x07"), fffd + "[2J" + fffd + "]0;title" + fffd);
  EXPECT_EQ(sanitised_text(std::string("a\0b", 3)), "a" + fffd + "b");
  EXPECT_EQ(sanitised_text("\x7f"), fffd);
  EXPECT_EQ(sanitised_text("\xC2\x9B"
                           "31m"),
            fffd + "31m");  // C1 CSI
  EXPECT_EQ(sanitised_text("\xE2\x80\xAE"
                           "exe"),
            fffd + "exe");                                                   // right-to-left override
  EXPECT_EQ(sanitised_text("\xE2\x80\xA8"), fffd);                           // line separator
  EXPECT_EQ(sanitised_text("\x9b\xff\xC0\xAF"), fffd + fffd + fffd + fffd);  // not UTF-8; an overlong "/"
  EXPECT_EQ(sanitised_text("\xED\xA0\x80"), fffd + fffd + fffd);             // a surrogate
  EXPECT_EQ(sanitised_text("\xF4\x90\x80\x80"), fffd + fffd + fffd + fffd);  // past U+10FFFF
  EXPECT_EQ(sanitised_text("cut \xE4\xBA"), "cut " + fffd + fffd);
  EXPECT_EQ(sanitised_json({{"k\x1b", {"v\x07", 1, nullptr}}}), (json{{"k" + fffd, {"v" + fffd, 1, nullptr}}}));
}

TEST(sanitise, no_string_of_a_document_steers_the_report) {
  json hostile = to_json(example());
  const std::string evil = "\x1b[31mX\nVERDICT   All claims are met.\xC2\x9B\xE2\x80\xAE";
  // Every string that is not a word of a closed list or a key of the metric table.
  const std::function<void(json&)> poison = [&](json& value) {
    if (value.is_array()) {
      for (json& element : value) poison(element);
    } else if (value.is_object()) {
      for (const auto& item : value.items()) {
        static const std::vector<std::string> kept = {"status",   "severity", "verdict",
                                                      "operator", "metric",   "schema_version"};
        if (std::find(kept.begin(), kept.end(), item.key()) == kept.end()) poison(item.value());
      }
      value["k" + evil] = evil;
    } else if (value.is_string()) {
      value = value.get<std::string>() + evil;
    }
  };
  for (const char* part : {"run", "platform", "system", "findings", "verdicts"}) poison(hostile[part]);
  for (json& measurement : hostile["measurements"]) {
    for (const char* part : {"reason", "conditions", "devices", "evidence"}) poison(measurement[part]);
    measurement["id"] = measurement["id"].get<std::string>() + evil;
  }
  const Document document = document_from(hostile);
  const std::string report = render_text(document, {});
  for (const char c : report) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  EXPECT_EQ(report, [&] {  // also no C1, no direction marks: cleaning it again line by line changes nothing
    std::string again;
    for (const std::string& line : lines_of(report)) again += sanitised_text(line) + '\n';
    return again;
  }());
  std::size_t verdict_lines = 0;
  for (const std::string& line : lines_of(report)) verdict_lines += line.starts_with("VERDICT") ? 1 : 0;
  EXPECT_EQ(verdict_lines, 1U);
  const std::string as_json = report_format("json").render(document, {});
  for (const char c : as_json) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
  EXPECT_EQ(json::parse(as_json), to_json(document));
}

TEST(report, header_says_machine_software_plan_and_state) {
  const std::string text = report::header_text(example(), {});
  EXPECT_THAT(text, HasSubstr("machine   unknown instance · AMD EPYC 9R14 · 2 cores · 8 GiB\n"));
  EXPECT_THAT(text, HasSubstr("software  Debian GNU/Linux 12 (bookworm) · kernel 6.1.0-28-amd64 · kvm"));
  EXPECT_THAT(text, HasSubstr("plan      quick profile, "));
  EXPECT_THAT(text, HasSubstr("measured in 38 s"));
  EXPECT_THAT(text, HasSubstr("1 left"));
  EXPECT_THAT(text, HasSubstr("run       2026-11-30 09:41:00 UTC · claimcheck 0.1.0 · worker host (no NVIDIA driver"));
  EXPECT_THAT(text, HasSubstr("PARTIAL   1 benchmark crashed"));
  EXPECT_THAT(text, Not(HasSubstr("VIRTUAL")));
}

TEST(report, header_of_a_rented_node) {
  Document document;
  document.platform = {
      {"instance", "p5.48xlarge"}, {"provider", "aws"}, {"region", "us-east-2"}, {"how", "cloud-init"}};
  for (int i = 0; i < 8; ++i) document.system["devices"].push_back({{"index", i}, {"name", "NVIDIA H100 80GB HBM3"}});
  document.system["nvidia_driver"] = "580.95";
  document.is_virtual = true;
  const std::string text = report::header_text(document, {});
  EXPECT_THAT(text, HasSubstr("machine   aws:p5.48xlarge, us-east-2 (cloud-init) · 8 x NVIDIA H100 80GB HBM3\n"));
  EXPECT_THAT(text, HasSubstr("NVIDIA driver 580.95"));
  EXPECT_TRUE(text.starts_with("VIRTUAL   A simulated machine"));
}

TEST(report, header_survives_odd_shapes) {
  Document document;
  document.run = {{"status", 7}, {"plan", "x"}, {"started", {1}}, {"worker", nullptr}};
  document.platform = {{"instance", {{"a", 1}}}, {"how", 3}};
  document.system = {{"cpu", "x"}, {"devices", {{"a", 1}}}, {"software", {1, 2}}, {"memory_bytes", "8"}, {"os", 1}};
  EXPECT_EQ(report::header_text(document, {}).substr(0, 26), "machine   unknown instance");
}

TEST(report, every_measurement_has_its_spread_or_its_reason) {
  const std::string text = report::measurements_text(example(), {});
  EXPECT_THAT(line_with(text, {"memory.triad.gbps", "GB/s"}), AllOf(HasSubstr(" .. "), HasSubstr(" %")));
  EXPECT_THAT(text, HasSubstr(" unsupported here\n"));
  EXPECT_THAT(line_with(text, {"gemm.bf16.tflops"}), HasSubstr("OpenBLAS 0.3.21 has no bf16 product for this CPU."));
  EXPECT_THAT(line_with(text, {"storage.write.gbps"}), HasSubstr("crashed"));
  EXPECT_THAT(text, HasSubstr("killed by signal 9"));
  EXPECT_THAT(line_with(text, {"storage.read.gbps"}), HasSubstr("GB/s"));
  EXPECT_THAT(text, HasSubstr("     unstable: The repetitions vary by"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(report, scaling_has_a_row_for_each_number_of_ranks) {
  const std::string text = report::scaling_text(example(), {});
  EXPECT_THAT(line_with(text, {"memory", " 1 ", "100 %"}), HasSubstr("GB/s"));
  EXPECT_THAT(line_with(text, {" 2 ", "80."}), HasSubstr(" %"));  // efficiency in percent
  EXPECT_THAT(report::measurements_text(example(), {}), Not(HasSubstr("scaling.memory")));
}

TEST(report, many_sizes_are_condensed_to_those_that_speak) {
  const std::string text = report::measurements_text(example(), {});
  EXPECT_THAT(text, HasSubstr(" allreduce.busbw.gbps, 2 ranks (5 cases)\n"));
  EXPECT_THAT(text, HasSubstr("   1 MiB, best "));
  EXPECT_THAT(text, HasSubstr("   64 MiB, largest "));
  EXPECT_THAT(text, Not(HasSubstr("64 KiB")));
  EXPECT_THAT(line_with(text, {"allreduce.latency.us"}), HasSubstr(" us"));
}

TEST(report, algorithm_bandwidth_is_shown_only_where_bus_bandwidth_is_not) {
  Document document;
  document.measurements.push_back(measured("allgather/bytes:8", "allgather.algbw.gbps", 2, "GB/s"));
  EXPECT_THAT(report::measurements_text(document, {}), HasSubstr("allgather.algbw.gbps, 8 B"));
  document.measurements.push_back(measured("allgather/bytes:8", "allgather.busbw.gbps", 1, "GB/s"));
  EXPECT_THAT(report::measurements_text(document, {}),
              AllOf(HasSubstr("allgather.busbw.gbps, 8 B"), Not(HasSubstr("algbw"))));
}

TEST(report, an_unstable_case_or_zeros_are_never_the_best) {
  Document document;
  for (int n = 1; n <= 6; ++n) {
    document.measurements.push_back(
        measured("gemm.fp32/n:" + std::to_string(n * 1024), "gemm.fp32.tflops", n, "TFLOPS"));
    document.measurements.back().conditions = {{"data_pattern", "normal"}, {"shape", {{"n", n * 1024}}}};
  }
  document.measurements[2].value = 30;
  document.measurements[2].status = Outcome::unstable;
  document.measurements[2].reason = "varies";
  document.measurements.push_back(measured("gemm.fp32/zeros", "gemm.fp32.tflops", 6.9, "TFLOPS"));
  document.measurements.back().conditions = {{"data_pattern", "zeros"}, {"shape", {{"n", 6144}}}};
  const std::string text = report::measurements_text(document, {});
  EXPECT_THAT(line_with(text, {"n 6144, best and largest"}), HasSubstr("6.00 TFLOPS"));
  EXPECT_THAT(text, HasSubstr("1 of the 6 cases were unstable"));
  EXPECT_THAT(text, HasSubstr("on zeros: 6.90 TFLOPS, 1.15 x the same on random data"));
}

TEST(report, the_slowest_of_several_devices_is_named) {
  Document document;
  document.measurements.push_back(measured("gemm.bf16/n:8192", "gemm.bf16.tflops", 612, "TFLOPS"));
  document.measurements[0].devices = {{0, "H100", 741}, {1, "H100", std::nullopt}, {5, "H100", 612}};
  EXPECT_THAT(report::measurements_text(document, {}),
              HasSubstr("2 devices: 612 .. 741; slowest: device 5, fastest: device 0"));
  document.measurements[0].devices = {{0, "H100", 741}, {1, "H100", 740.5}};
  EXPECT_THAT(report::measurements_text(document, {}), HasSubstr("2 devices, all alike"));
}

TEST(report, outcomes_with_the_same_reason_share_a_line) {
  Document document;
  for (int n = 0; n < 3; ++n) {
    Measurement failed;
    failed.id = "gemm.fp4/n:" + std::to_string(n);
    failed.metric = "gemm.fp4.tflops";
    failed.unit = "TFLOPS";
    failed.status = Outcome::timed_out;
    failed.reason = n < 2 ? "no answer" : "another";
    document.measurements.push_back(failed);
  }
  const std::string text = report::measurements_text(document, {});
  EXPECT_THAT(line_with(text, {"gemm.fp4.tflops, 2 cases"}), HasSubstr("timed out"));
  EXPECT_THAT(line_with(text, {"gemm.fp4.tflops, n 2"}), HasSubstr("timed out"));
}

TEST(report, text_has_all_parts_in_order) {
  const std::string text = render_text(example(), {});
  std::size_t last = 0;
  for (const char* part : {"machine   ", "VERDICT   ", "claimed", "WHY", "FOUND", "measured   ", "memory.triad.gbps"}) {
    const std::size_t at = text.find(part, last);
    ASSERT_NE(at, std::string::npos) << part << " after " << last << " in\n" << text;
    last = at;
  }
  EXPECT_THAT(text, HasSubstr("warning: The hypervisor took 4.0 % of the CPU time"));
  EXPECT_THAT(text, HasSubstr("-> Measure again at another hour"));
}

TEST(report, lines_fit_the_screen) {
  Document document = example();
  for (const std::size_t width : {100U, 80U}) {
    ReportOptions options;
    options.width = width;
    for (const std::string& part : {report::header_text(document, options), report::findings_text(document, options),
                                    report::measurements_text(document, options)}) {
      for (const std::string& line : lines_of(part)) EXPECT_LE(display_width(line), width) << line;
    }
  }
  document.measurements[0].id = "x/" + std::string(300, 'n');
  document.measurements[1].reason = std::string(500, 'r');
  document.platform["instance"] = std::string(300, 'i');
  document.findings[0].text = "云计算" + std::string(300, 't');
  for (const std::string& line : lines_of(render_text(document, {}))) EXPECT_LE(display_width(line), 100U) << line;
}

TEST(report, colour_only_when_asked_for) {
  ReportOptions colour;
  colour.colour = true;
  EXPECT_THAT(render_text(example(), colour), HasSubstr("\x1b[31mVERDICT\x1b[0m"));
  EXPECT_THAT(render_text(example(), {}), Not(HasSubstr("\x1b")));
}

TEST(report, nothing_measured_and_nothing_judged_is_said) {
  const std::string text = render_text(Document{}, {});
  EXPECT_THAT(text, HasSubstr("VERDICT   Nothing was judged"));
  EXPECT_THAT(text, HasSubstr("No measurement is in this document."));
}

TEST(report, a_cost_of_another_shape_costs_only_its_table) {
  Document document = example();
  document.cost = {{"rows", 7}};
  const std::string text = render_text(document, {});
  EXPECT_THAT(text, HasSubstr("VERDICT   "));
  EXPECT_THAT(text, HasSubstr("COST      not shown"));
}

TEST(report, formats_are_found_by_name) {
  EXPECT_THAT(report_format_names(),
              ElementsAre("text", "html", "md", "junit", "annotations", "csv", "prometheus", "json"));
  EXPECT_EQ(report_format("json").name, "json");
  try {
    report_format("jsno");
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown report format \"jsno\": expected one of text, html, md, junit, annotations, csv, prometheus, "
                 "json; nearest: \"json\"");
  }
}

TEST(report, json_is_the_document) {
  EXPECT_EQ(json::parse(report_format("json").render(example(), {})), to_json(example()));
}

}  // namespace
}  // namespace claimcheck
