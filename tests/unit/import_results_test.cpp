// SuperBench, Google Benchmark, measurements as CSV, records of runs without result.
#include "harness/import/collected.h"
#include "harness/judge/findings.h"
#include "harness/report/format.h"
#include "tests/unit/import_tools_support.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ResultImport : public ToolImports {};

TEST_F(ResultImport, SuperbenchSummaryHasTheSlowestGpuOfANode) {
  const auto imported = import(
      R"({"node": "sb-1", "gemm-flops/bf16_tc_flops:0": 250000.0, "gemm-flops/bf16_tc_flops:1": 240000.5, )"
      R"("nccl-bw/allreduce_1073741824_busbw:0": 230.5, "mem-bw/H2D_Mem_BW:0": 25.5, "gemm-flops/return_code": 0, )"
      R"("kernel-launch/wall_overhead:0": 0.01})"
      "\n");
  const Measurement gemm = measurement(imported, "gemm.bf16.tflops");
  EXPECT_DOUBLE_EQ(*gemm.value, 240.0005);
  EXPECT_EQ(gemm.conditions["node"], "sb-1");
  EXPECT_DOUBLE_EQ(*gemm.devices.at(0).value, 250.0);
  const Measurement busbw = measurement(imported, "allreduce.busbw.gbps");
  EXPECT_DOUBLE_EQ(*busbw.value, 230.5);
  EXPECT_EQ(busbw.conditions["bytes"], 1073741824.0);
  EXPECT_DOUBLE_EQ(*measurement(imported, "host_link.h2d.gbps").value, 25.5);
  EXPECT_THAT(notes(imported), HasSubstr("1 figures of SuperBench on sb-1 have no metric"));
}

TEST_F(ResultImport, SuperbenchFigureThatIsMissingIsNoZero) {
  const auto imported =
      import(R"({"node": "sb-2", "mem-bw/H2D_Mem_BW:0": 25.5, "mem-bw/H2D_Mem_BW:1": "N/A", "mem-bw/return_code": 1})"
             "\n");
  const Measurement copy = measurement(imported, "host_link.h2d.gbps");
  EXPECT_EQ(copy.status, Outcome::failed);
  EXPECT_THAT(copy.reason, HasSubstr("1 of 2 GPUs is missing"));
  EXPECT_THAT(finding(imported, "import.superbench_failed").text,
              HasSubstr("mem-bw of SuperBench ended with code 1 on sb-2"));
}

TEST_F(ResultImport, SuperbenchDiagnosis) {
  const auto imported = import(
      R"json({"Category": "X", "Defective Details": "kernel-launch/event_overhead:2(B/L: 0.0050 VAL: 0.0900 VAR: 1700.00% Rule:lambda x:x>0.05),mem-bw/D2H_Mem_BW:0_miss,mem-bw/D2H_Mem_BW:1_miss", "index": "sb-7", "kernel-launch/event_overhead:2": 17.0})json"
      "\n"
      R"json({"Category": "Y", "Defective Details": "a-b/figure:0(B/L: 0.0000 VAL: 3.0000 VAR: inf% Rule:lambda x:x>0.05)", "index": "sb-8"})json"
      "\n");
  EXPECT_TRUE(imported.document.measurements.empty());
  ASSERT_EQ(imported.document.findings.size(), 3U);
  EXPECT_EQ(imported.document.findings[0].text,
            "Node sb-7: kernel-launch/event_overhead:2 is 0.0900 against a baseline of 0.0050 (1700.00%); the rule is "
            "\"lambda x:x>0.05\".");
  EXPECT_EQ(imported.document.findings[1].text,
            "Node sb-7: 2 figures of mem-bw are missing: it did not run there, which is no figure of 0.");
  EXPECT_THAT(imported.document.findings[2].text, HasSubstr("its baseline is 0"));
}

TEST_F(ResultImport, GoogleBenchmarkCountersNamedLikeMetrics) {
  const auto imported = import(R"({"context": {"host_name": "box", "library_build_type": "release"}, "benchmarks": [
{"name": "gemm/n:4096/manual_time", "run_name": "gemm/n:4096/manual_time", "run_type": "iteration", "real_time": 2.0, "time_unit": "ms", "gemm.fp32.tflops": 60.0},
{"name": "gemm/n:4096/manual_time", "run_name": "gemm/n:4096/manual_time", "run_type": "iteration", "real_time": 2.0, "time_unit": "ms", "gemm.fp32.tflops": 62.0},
{"name": "gemm/n:4096/manual_time_mean", "run_name": "gemm/n:4096/manual_time", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 2.0, "gemm.fp32.tflops": 99.0},
{"name": "BM_parse", "run_type": "iteration", "real_time": 5, "time_unit": "us"},
{"name": "triad", "run_type": "iteration", "error_occurred": true, "error_message": "no memory", "memory.triad.gbps": 0}]}
)");
  const Measurement gemm = measurement(imported, "gemm.fp32.tflops");
  EXPECT_DOUBLE_EQ(*gemm.value, 61.0);
  EXPECT_EQ(gemm.id, "gemm/n:4096");
  EXPECT_EQ(gemm.conditions["n"], 4096.0);
  EXPECT_EQ(gemm.statistics->samples.size(), 2U);
  const Measurement triad = measurement(imported, "memory.triad.gbps");
  EXPECT_EQ(triad.status, Outcome::failed);
  EXPECT_EQ(triad.reason, "no memory");
  EXPECT_THAT(notes(imported), HasSubstr("1 of 5 benchmarks have no counter named like a metric here"));
  EXPECT_EQ(imported.document.system["host"], "box");
}

TEST_F(ResultImport, CsvWithConversionAndConditions) {
  const auto imported = import(
      "metric,value,unit,nodes,note\nallreduce.busbw.gbps,2.8,Tb/s,4,\"a, b\"\nlaunch.latency.us,0.004,ms,,\n"
      "memory.triad.gbps,,GB/s,,\n");
  const Measurement busbw = measurement(imported, "allreduce.busbw.gbps");
  EXPECT_DOUBLE_EQ(*busbw.value, 350.0);
  EXPECT_EQ(busbw.conditions["nodes"], 4.0);
  EXPECT_EQ(busbw.conditions["note"], "a, b");
  EXPECT_DOUBLE_EQ(*measurement(imported, "launch.latency.us").value, 4.0);
  EXPECT_EQ(measurement(imported, "memory.triad.gbps").status, Outcome::failed);
}

// What report writes, import reads: ids, figures, outcomes with their reasons, and the conditions that have a column.
TEST_F(ResultImport, OurOwnCsvComesBack) {
  Document document;
  const auto add = [&](const std::string& id, const std::string& metric, const std::string& unit,
                       std::optional<double> value, const std::string& reason, json conditions) {
    Measurement made;
    made.id = id;
    made.metric = metric;
    made.unit = unit;
    made.value = value;
    made.status = value ? Outcome::ok : Outcome::unsupported;
    made.reason = reason;
    made.conditions = std::move(conditions);
    document.measurements.push_back(made);
  };
  add("allreduce/bytes:8", "allreduce.latency.us", "us", 0.1 + 0.2, "", {{"ranks", 16}, {"nodes", 2}, {"bytes", 8}});
  add("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", 812.25, "", {{"data_type", "bf16"}});
  add("=odd", "p2p.read.gbps", "GB/s", std::nullopt, "\"no\", says the tool", {});
  const auto imported = import(render_csv(document, {}));
  ASSERT_EQ(imported.document.measurements.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const Measurement& one = imported.document.measurements[i];
    EXPECT_EQ(one.id, document.measurements[i].id);
    EXPECT_EQ(one.metric, document.measurements[i].metric);
    EXPECT_EQ(one.value, document.measurements[i].value);
    EXPECT_EQ(one.status, document.measurements[i].status);
    EXPECT_EQ(one.reason, document.measurements[i].reason);
  }
  EXPECT_EQ(imported.document.measurements[0].conditions, (json{{"ranks", 16.0}, {"nodes", 2.0}, {"bytes", 8.0}}));
  EXPECT_EQ(imported.document.measurements[1].conditions, (json{{"data_type", "bf16"}}));
  EXPECT_EQ(imported.files[0].not_understood, 0U);
}

TEST_F(ResultImport, FindingsOfALogOutliveTheJudge) {
  importing::Collected collected;
  collected.begin_file("log");
  collected.add(Finding{"gpu.lost", "error", "GPU 1 is lost.", "Return it.", {}});
  Document document;
  collected.into(document);
  replace_measured_findings(document, {});
  ASSERT_EQ(document.findings.size(), 1U);
  EXPECT_EQ(document.findings[0].id, "import.gpu.lost");
}

TEST_F(ResultImport, CsvErrorsNameTheLine) {
  EXPECT_THAT(refusal("metric,value,unit\nmemory.triad.gbps,12,GB/s\nmemory.triat.gbps,12,GB/s\n"),
              HasSubstr(":3: metric \"memory.triat.gbps\" is unknown, nearest: memory.triad.gbps"));
  EXPECT_THAT(refusal("metric,value,unit\nmemory.triad.gbps,12 GB/s,GB/s\n"),
              HasSubstr(":2: value \"12 GB/s\" is no number"));
  EXPECT_THAT(refusal("metric,value,unit\nmemory.triad.gbps,12,us\n"), HasSubstr(":2: unit \"us\" does not fit"));
  EXPECT_THAT(refusal("metric,value,unit\nmemory.triad.gbps,12\n"), HasSubstr(":2: 2 cells, but the header has 3"));
  EXPECT_THAT(refusal("metric,value\nmemory.triad.gbps,12\n"), HasSubstr(":1: no column \"unit\""));
  EXPECT_THAT(refusal("metric,value,unit,status\nmemory.triad.gbps,12,GB/s,fine\n"),
              HasSubstr(":2: status \"fine\" is unknown"));
}

TEST_F(ResultImport, CsvOfPricesIsSentToTheCatalog) {
  EXPECT_THAT(refusal("Instance,Price\nx.1,0.01\n"), HasSubstr("`claimcheck catalog import`"));
}

TEST_F(ResultImport, RunRecordsSayWhyThereIsNothing) {
  const auto imported = import(R"({"exit_code": -1, "error_msg": "Quota 'GPUS' exceeded"})"
                               "\n"
                               R"({"exit_code": -1, "error_msg": "InsufficientInstanceCapacity in zone"})"
                               "\n"
                               R"({"exit_code": -2, "error_msg": "Task doesn't need to run here"})"
                               "\n"
                               R"({"exit_code": -4, "error_msg": "killed after 600 s"})"
                               "\n"
                               R"({"exit_code": 3, "error_msg": null})"
                               "\n");
  std::vector<std::string> ids;
  for (const Finding& one : imported.document.findings) ids.push_back(one.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"import.no_result.quota", "import.no_result.not_provisioned",
                                           "import.no_result.does_not_apply", "import.no_result.timed_out",
                                           "import.no_result.tool_failed"}));
  EXPECT_TRUE(imported.document.measurements.empty());
}

}  // namespace
}  // namespace claimcheck
