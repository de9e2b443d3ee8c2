// The result document: exact round trip, and every error with its place.
#include "harness/result/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "harness/error.h"
#include "harness/result/json_text.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "claimcheck-document-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path path(const std::string& name) const { return path_ / name; }
  fs::path file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  fs::path path_;
};

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

std::string syntax_error(const std::string& text) {
  return error_of([&] { parse_json(text, "r.json"); });
}

Measurement full_measurement() {
  Measurement measurement;
  measurement.id = "gemm.fp32/n:4096";
  measurement.metric = "gemm.fp32.tflops";
  measurement.value = 0.1 + 0.2;  // 0.30000000000000004: no digit may be lost
  measurement.unit = "TFLOPS";
  measurement.status = Outcome::ok;
  measurement.statistics =
      Statistics{0.1 + 0.2, 1.0 / 3, 5e300, 0.01, std::pair(1.0 / 3, 2.0 / 3), {1.0 / 3, -0.0, 5e-324}};
  measurement.statistics->min = -0.0;
  measurement.conditions = {{"method", "gemm/1"}, {"shape", {{"m", 4096}}}, {"big", 18446744073709551615ULL}};
  measurement.devices = {{0, "A \"quoted\" name", 0.3}, {1, "ünï", std::nullopt}};
  measurement.evidence = {{"clock_mhz", {{"median", 1410.5}}}, {"unknown", nullptr}};
  measurement.is_virtual = true;
  measurement.estimate = true;
  return measurement;
}

Document full_document() {
  Document document;
  document.run = {{"id", "x"}, {"status", "complete"}};
  document.platform = {{"instance", nullptr}};
  document.system = {{"memory_bytes", 8589934592}};
  document.measurements = {full_measurement()};
  Measurement failed;
  failed.id = "storage.read";
  failed.metric = "storage.read.gbps";
  failed.unit = "GB/s";
  failed.status = Outcome::timed_out;
  failed.reason = "no answer for 60 s";
  document.measurements.push_back(failed);
  document.findings = {{"cpu.steal", "warning", "text", "next", {{"steal_fraction", 0.04}}}};
  Verdict verdict;
  verdict.claim = {"user:1", "gemm.fp32.tflops", ">=", 989, "TFLOPS", {{"sparse", false}}, {{"text", "--claim"}}};
  verdict.kind = VerdictKind::not_met;
  verdict.attained = 0.30000000000000004;
  verdict.interval = std::pair(0.1, 0.5);
  verdict.reason = "too low";
  verdict.diagnosis = {"why", "what next"};
  verdict.measurement_id = "gemm.fp32/n:4096";
  document.verdicts = {verdict};
  document.cost = {{"rows", json::array()}};
  document.is_virtual = true;
  return document;
}

json minimal() { return to_json(full_document()); }

std::string shape_error(const char* pointer, const json& value) {
  json document = minimal();
  document[json::json_pointer(pointer)] = value;
  return error_of([&] { document_from(document); });
}

TEST(document, comes_back_exactly) {
  const json written = to_json(full_document());
  const std::string text = dump_json(written);
  const json again = to_json(document_from(parse_json(text, "text")));
  EXPECT_EQ(again, written);
  EXPECT_EQ(dump_json(again), text);
  const Measurement back = document_from(written).measurements[0];
  EXPECT_EQ(*back.value, 0.1 + 0.2);
  EXPECT_EQ(back.statistics->samples[2], 5e-324);
  EXPECT_TRUE(std::signbit(back.statistics->samples[1]));
  EXPECT_EQ(back.conditions["big"].get<std::uint64_t>(), 18446744073709551615ULL);
  EXPECT_EQ(back.devices[1].value, std::nullopt);
}

TEST(document, every_outcome_and_verdict_comes_back) {
  for (const Outcome outcome : {Outcome::ok, Outcome::wrong_result, Outcome::unstable, Outcome::unsupported,
                                Outcome::timed_out, Outcome::crashed, Outcome::failed}) {
    Measurement measurement = full_measurement();
    measurement.status = outcome;
    measurement.reason = "because";
    EXPECT_EQ(measurement_from(to_json(measurement), "/m").status, outcome);
    EXPECT_EQ(outcome_from(to_string(outcome)), outcome);
  }
  for (const VerdictKind kind : {VerdictKind::met, VerdictKind::not_met, VerdictKind::inconclusive,
                                 VerdictKind::not_measured, VerdictKind::implausible, VerdictKind::contradicted}) {
    Document document = full_document();
    document.verdicts[0].kind = kind;
    EXPECT_EQ(document_from(to_json(document)).verdicts[0].kind, kind);
  }
  EXPECT_EQ(outcome_from("OK"), std::nullopt);
}

TEST(document, says_virtual_only_when_it_is) {
  Document document = full_document();
  EXPECT_EQ(to_json(document)["virtual"], true);
  document.is_virtual = false;
  document.measurements[0].is_virtual = document.measurements[0].estimate = false;
  EXPECT_FALSE(to_json(document).contains("virtual"));
  EXPECT_FALSE(to_json(document)["measurements"][0].contains("virtual"));
  EXPECT_FALSE(to_json(document)["measurements"][0].contains("estimate"));
}

TEST(document, numbers_that_are_none_become_null) {
  Measurement measurement = full_measurement();
  measurement.value = std::nan("");
  measurement.statistics->max = std::numeric_limits<double>::infinity();
  measurement.devices[0].value = std::numeric_limits<double>::infinity();
  const json written = to_json(measurement);
  EXPECT_TRUE(written["value"].is_null());
  EXPECT_TRUE(written["statistics"].is_null());
  EXPECT_TRUE(written["devices"][0]["value"].is_null());
}

TEST(document, what_holds_nothing_is_written_as_an_empty_object) {
  Document document = full_document();
  document.findings = {{"a.b", "error", "It broke.", "", {}}};
  document.measurements.front().conditions = {};
  document.measurements.front().evidence = {};
  const Document again = document_from(to_json(document));
  EXPECT_EQ(again.findings.at(0).evidence, json::object());
  EXPECT_EQ(again.measurements.at(0).conditions, json::object());
  EXPECT_EQ(again.measurements.at(0).evidence, json::object());
}

TEST(document, strings_that_are_not_utf8_can_be_written) {
  Document document = full_document();
  document.findings[0].text = "bad \xff\xc3 bytes";
  EXPECT_THAT(dump_json(to_json(document)), HasSubstr("bad \xEF\xBF\xBD\xEF\xBF\xBD bytes"));
}

TEST(document, syntax_errors_have_line_and_column) {
  EXPECT_EQ(syntax_error("{\n \"a\": 1,\n \"b\" 2\n}"),
            "r.json:3:6: not valid JSON: unexpected number literal; expected ':'");
  EXPECT_EQ(syntax_error("{\"a\": [1, 2"), "r.json:1:12: the JSON ends in the middle: the file was cut short");
  EXPECT_EQ(syntax_error("{\"a\": \"x"), "r.json:1:9: the JSON ends in the middle: the file was cut short");
  EXPECT_EQ(syntax_error("\n\n{\"a\": NaN}"),
            "r.json:3:7: NaN and infinity are not JSON numbers; expected a finite number or null");
  EXPECT_EQ(syntax_error("{\"a\": -Infinity}"),
            "r.json:1:7: NaN and infinity are not JSON numbers; expected a finite number or null");
  EXPECT_EQ(syntax_error("[1,\n 1e999]"),
            "r.json:2:2: the number 1e999 is too large; expected a finite number or null");
  EXPECT_EQ(syntax_error("[\"a\xff\"]"), "r.json:1:4: not valid JSON: invalid string: ill-formed UTF-8 byte");
  EXPECT_THAT(syntax_error("{} trailing"), HasSubstr("r.json:1:6: not valid JSON"));
}

TEST(document, depth_is_limited_without_recursion) {
  const auto nested = [](std::size_t depth) {
    return "\n " + std::string(depth, '[') + "\"[[\\\"[\"" + std::string(depth, ']');
  };
  EXPECT_EQ(syntax_error(nested(64)), "no error");
  EXPECT_EQ(syntax_error(nested(65)),
            "r.json:2:66: nested deeper than 64 levels; expected a claimcheck document, which "
            "needs fewer than 20");
  EXPECT_THAT(syntax_error(std::string(3'000'000, '[')), HasSubstr("r.json:1:65: nested deeper"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(syntax_error(objects), HasSubstr("r.json:1:321: nested deeper"));
}

TEST(document, truncation_at_every_byte_is_an_error) {
  const std::string text = dump_json(minimal(), -1);
  for (std::size_t size = 1; size < text.size(); ++size) {
    EXPECT_THAT(syntax_error(text.substr(0, size)), HasSubstr("the file was cut short")) << size;
  }
}

TEST(document, versions) {
  json document = minimal();
  document.erase("virtual");
  document["schema_version"] = "1.7";
  document["new_key"] = {1, 2};
  document["measurements"][0]["new_key"] = "x";
  const Document newer = document_from(document);
  ASSERT_EQ(newer.notes.size(), 1U);
  EXPECT_EQ(newer.notes[0],
            "made by a newer claimcheck (schema 1.7; this one knows 1.0): what is new in it is not shown");
  EXPECT_EQ(newer.measurements.size(), 2U);
  EXPECT_TRUE(document_from(minimal()).notes.empty());
  EXPECT_EQ(shape_error("/schema_version", "2.0"),
            "/schema_version: made by a newer claimcheck (schema 2.0; this one reads 1.x): update claimcheck");
  EXPECT_EQ(shape_error("/schema_version", "0.9"),
            "/schema_version: schema 0.9 is too old; this claimcheck reads 1.x: measure again");
  for (const char* bad : {"", "1", "1.", ".1", "one", "1.0.0", "1.-1", "99999999999999999999.0"}) {
    EXPECT_THAT(shape_error("/schema_version", bad), HasSubstr("expected a version such as \"1.0\", found")) << bad;
  }
  EXPECT_EQ(error_of([] { document_from(json::array()); }),
            "/: expected a claimcheck result document, found an array of 0");
  EXPECT_EQ(error_of([] {
              document_from({{"fio version", "fio-3.33"}});
            }),
            "/: expected a claimcheck result document, found an object without \"schema_version\"");
}

TEST(document, shape_errors_have_a_pointer_and_the_nearest_choice) {
  EXPECT_EQ(shape_error("/measurements/1/status", "timeout"),
            "/measurements/1/status: expected one of ok, wrong_result, unstable, unsupported, timed_out, crashed, "
            "failed, found \"timeout\"; nearest: \"timed_out\"");
  EXPECT_EQ(shape_error("/measurements/0/metric", "gemm fp32 tflops"),
            "/measurements/0/metric: expected a metric key such as \"gemm.fp32.tflops\", \"gemm.fp64.tflops\" or "
            "\"gemm.tf32.tflops\", found \"gemm fp32 tflops\"");
  EXPECT_EQ(shape_error("/measurements/0/unit", "GFLOPS"),
            "/measurements/0/unit: expected \"TFLOPS\", the unit of gemm.fp32.tflops, found \"GFLOPS\"");
  EXPECT_EQ(shape_error("/measurements/0/value", "12"),
            "/measurements/0/value: expected a number or null, found \"12\"");
  EXPECT_EQ(shape_error("/measurements/0/value", nullptr),
            "/measurements/0/value: expected a number, because the status is ok, found null");
  EXPECT_EQ(shape_error("/measurements/1/reason", ""),
            "/measurements/1: expected a reason, because the status is timed_out");
  EXPECT_EQ(shape_error("/measurements/0/statistics/cv", -0.5),
            "/measurements/0/statistics/cv: expected a number >= 0, found -0.5");
  EXPECT_EQ(shape_error("/measurements/0/statistics/min", 7),
            "/measurements/0/statistics: expected min <= median <= max, found 7, 0.30000000000000004, 5e+300");
  EXPECT_EQ(shape_error("/measurements/0/statistics/ci95", json::array({2, 1})),
            "/measurements/0/statistics/ci95: expected null or [low, high] with low <= high, found an array of 2");
  EXPECT_EQ(shape_error("/measurements/0/devices/1/index", 1.5),
            "/measurements/0/devices/1/index: expected an integer of 32 bits, found 1.5");
  EXPECT_EQ(shape_error("/measurements/0/devices/1/index", 4294967296LL),
            "/measurements/0/devices/1/index: expected an integer of 32 bits, found 4294967296");
  EXPECT_EQ(shape_error("/verdicts/0/claim/value", json::object()),
            "/verdicts/0/claim/value: expected a number or a string, found an object");
  EXPECT_EQ(shape_error("/findings/0", "text"), "/findings/0: expected an object, found \"text\"");
  EXPECT_EQ(shape_error("/run", nullptr), "/run: expected an object, found null");
  EXPECT_EQ(shape_error("/cost", "free"), "/cost: expected an object, found \"free\"");
  EXPECT_EQ(shape_error("/virtual", "yes"), "/virtual: expected true or false, found \"yes\"");
}

TEST(document, a_missing_member_names_the_one_that_looks_like_it) {
  json document = minimal();
  document["measurements"][0].erase("metric");
  document["measurements"][0]["metrics"] = "gemm.fp32.tflops";
  EXPECT_EQ(error_of([&] { document_from(document); }),
            "/measurements/0: expected a member \"metric\", found \"metrics\"");
  document["measurements"][0].clear();
  EXPECT_EQ(error_of([&] { document_from(document); }), "/measurements/0: expected a member \"id\"");
}

TEST(document, long_or_odd_values_are_cut_in_errors) {
  const std::string error = shape_error("/measurements/0/value", std::string(58, 'x') + "ééé" + std::string(5000, 'y'));
  EXPECT_LT(error.size(), 140U);
  EXPECT_THAT(error, HasSubstr("..."));
  EXPECT_NO_THROW(json(error).dump());  // still valid UTF-8
}

TEST(document, an_unknown_metric_is_kept_and_said) {
  json document = minimal();
  document["measurements"][1]["metric"] = "storage.reed.gbps";
  const Document read = document_from(document);
  EXPECT_EQ(read.measurements[1].metric, "storage.reed.gbps");
  ASSERT_EQ(read.notes.size(), 1U);
  EXPECT_THAT(read.notes[0],
              HasSubstr("/measurements/1/metric: this claimcheck does not know \"storage.reed.gbps\" and "
                        "does not judge it; nearest: \"storage.read.gbps\""));
}

TEST(document, findings_verdicts_and_cost_may_be_absent) {
  json document = minimal();
  for (const char* key : {"findings", "verdicts", "cost", "platform", "system", "virtual"}) document.erase(key);
  const Document read = document_from(document);
  EXPECT_TRUE(read.verdicts.empty());
  EXPECT_TRUE(read.cost.is_null());
  EXPECT_FALSE(read.is_virtual);
}

TEST(document, files_that_are_none) {
  const Scratch scratch;
  const auto read_error = [](const fs::path& file) { return error_of([&] { read_document(file); }); };
  const std::string here = scratch.path("").string();
  EXPECT_EQ(read_error(scratch.path("none.json")), here + "none.json: no such file; expected a result.json");
  EXPECT_EQ(read_error(here), here + ": is a directory; expected a file, such as result.json");
  EXPECT_EQ(read_error(scratch.file("empty.json", "")),
            here + "empty.json:1:1: the file is empty; expected a JSON document");
  EXPECT_EQ(read_error(scratch.file("blank.json", " \n")),
            here + "blank.json:2:1: the JSON ends in the middle: the file was cut short");
  EXPECT_THAT(read_error(scratch.file("shape.json", "{\"schema_version\": \"1.0\"}")),
              HasSubstr("shape.json: /: expected a member \"run\""));
  EXPECT_EQ(read_error(scratch.file("result.json", "[")), here +
                                                              "result.json:1:2: the JSON ends in the middle: the file "
                                                              "was cut short");
  EXPECT_EQ(read_error(here), here + ": is a directory; expected a file, such as " + here + "result.json");
}

TEST(document, a_file_over_the_limit_is_refused) {
  const Scratch scratch;
  const fs::path large = scratch.file("large.json", "[");
  fs::resize_file(large, (std::uintmax_t{256} << 20) + 1);  // sparse: takes no space
  EXPECT_THAT(error_of([&] { read_document(large); }), HasSubstr("large.json: larger than 256 MiB"));
}

TEST(document, written_files_are_whole_or_not_there) {
  const Scratch scratch;
  const fs::path file = scratch.path("result.json");
  write_atomically(file, "first");
  write_atomically(file, "second");
  EXPECT_EQ(contents(file), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path("")), {}), 1);
  fs::create_symlink("result.json", scratch.path("link.json"));
  write_atomically(scratch.path("link.json"), "third");
  EXPECT_TRUE(fs::is_symlink(scratch.path("link.json")));
  EXPECT_EQ(contents(file), "third");
  EXPECT_EQ(error_of([&] { write_atomically(scratch.path("no/such.json"), "x"); }),
            "cannot write " + scratch.path("no/such.json").string() + ": " + scratch.path("no").string() +
                " is not a directory; create it first");
  EXPECT_THAT(error_of([&] { write_atomically(scratch.path(""), "x"); }), HasSubstr("it is a directory"));
}

TEST(document, a_full_disk_is_a_sentence_with_path_and_bytes) {
  const std::string error = error_of([] { write_atomically("/dev/full", "123456789"); });
  EXPECT_THAT(error, HasSubstr("cannot write /dev/full: no space is left in /dev (9 bytes are needed"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));  // not replaced by a file
}

TEST(document, a_failed_write_keeps_the_old_file_and_leaves_no_other) {
  const Scratch scratch;
  const fs::path file = scratch.path("result.json");
  write_atomically(file, "old");
  // What renaming cannot replace: the temporary file was written by then and has to go.
  fs::create_directories(scratch.path("taken.json/inside"));
  EXPECT_NE(error_of([&] { write_atomically(scratch.path("taken.json"), "new"); }), "no error");
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path("")), {}), 2);
}

}  // namespace
}  // namespace claimcheck
