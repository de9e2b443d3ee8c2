// gpu-burn: what was really computed, on which GPU, and what its OK is worth.
#include "tests/unit/import_tools_support.h"

namespace claimcheck {
namespace {

using ::testing::HasSubstr;

class GpuBurnImport : public ToolImports {
 protected:
  const std::string begin =
      "Using compare file: compare.ptx\nBurning for 300 seconds.\n"
      "GPU 0: NVIDIA A40 (UUID: GPU-aaaa)\nGPU 1: NVIDIA A40 (UUID: GPU-bbbb)\n"
      "Initialized device 0 with 45634 MB of memory (45000 MB available, using 40500 MB of it), using FLOATS\n"
      "Results are 268435456 bytes each, thus performing 150 iterations\n";
  const std::string good =
      "10.0%  proc'd: 150 (21000 Gflop/s) - 0 (0 Gflop/s)   errors: 0 - 0   temps: 50 C - 45 C \r"
      "99.0%  proc'd: 900 (20500 Gflop/s) - 750 (19250 Gflop/s)   errors: 0 - 0   temps: 70 C - 66 C \n"
      "\tSummary at:   Mon Feb 12 07:01:02 PM CET 2024\n\n";
  const std::string end = "Killing processes with SIGTERM (soft kill)\ndone\n\nTested 2 GPUs:\n";
};

TEST_F(GpuBurnImport, LastReportOfEachGpuCountsAndZerosAtTheStartDoNot) {
  const auto imported = import(begin + good + end + "\tGPU 0: OK\n\tGPU 1: OK\n");
  const Measurement rate = measurement(imported, "gemm.fp32.tflops");
  ASSERT_TRUE(rate.value.has_value());
  EXPECT_DOUBLE_EQ(*rate.value, 19.25);  // the slower of the two
  EXPECT_EQ(rate.status, Outcome::ok);
  ASSERT_EQ(rate.devices.size(), 2U);
  EXPECT_DOUBLE_EQ(*rate.devices[0].value, 20.5);
  EXPECT_EQ(rate.devices[1].name, "NVIDIA A40");
  EXPECT_EQ(rate.conditions["n"], 8192.0);
  EXPECT_EQ(rate.conditions["seconds"], 300.0);
  EXPECT_EQ(partial(imported), "");
  EXPECT_TRUE(imported.document.findings.empty());
  EXPECT_EQ(imported.files.front().not_understood, 0U);
}

TEST_F(GpuBurnImport, OkWithoutProgressIsNoPass) {
  const auto imported = import(begin + end + "\tGPU 0: OK\n\tGPU 1: OK\n");
  const Measurement rate = measurement(imported, "gemm.fp32.tflops");
  EXPECT_EQ(rate.status, Outcome::failed);
  EXPECT_FALSE(rate.value.has_value());
  EXPECT_THAT(finding(imported, "import.no_progress").text, HasSubstr("nothing was computed"));
}

TEST_F(GpuBurnImport, DeadProcessesHaveNoFiguresAndTheirErrorCountsAreNoise) {
  const auto imported = import(begin +
                               "30.0%  proc'd: -1 (0 Gflop/s) - 900 (20000 Gflop/s)   errors: -73  (DIED!)- 0   temps: "
                               "30 C - 40 C \n\nNo clients are alive!  Aborting\n");
  const Measurement rate = measurement(imported, "gemm.fp32.tflops");
  EXPECT_EQ(rate.status, Outcome::crashed);
  EXPECT_FALSE(rate.value.has_value());
  EXPECT_THAT(finding(imported, "import.gpu_burn_died").text, HasSubstr("1 of 2 GPUs died (GPU 0)"));
  for (const Finding& one : imported.document.findings) EXPECT_NE(one.id, "import.gpu_burn_faulty");
}

TEST_F(GpuBurnImport, ErrorsAreWrongResultsWhateverTheRate) {
  const auto imported = import(begin +
                               "99.0%  proc'd: 900 (21000 Gflop/s) - 900 (21000 Gflop/s)   errors: 0 - 12 (WARNING!)  "
                               "temps: 50 C - 45 C\n" +
                               end + "\tGPU 0: OK\n\tGPU 1: FAULTY\n");
  EXPECT_EQ(measurement(imported, "gemm.fp32.tflops").status, Outcome::wrong_result);
  EXPECT_THAT(finding(imported, "import.gpu_burn_faulty").text, HasSubstr("GPU 1 computed wrong"));
}

TEST_F(GpuBurnImport, KindOfProductFollowsThePrecision) {
  const auto with = [&](const std::string& kind) {
    std::string text = begin + good;
    text.replace(text.find("using FLOATS"), 12, kind);
    return import(text).document.measurements.at(0);
  };
  EXPECT_EQ(with("using DOUBLES, using Tensor Cores").metric, "gemm.fp64.tflops");
  EXPECT_EQ(with("using DOUBLES").conditions["n"], 5793.0);  // sqrt(268435456 / 8)
  EXPECT_EQ(with("using FLOATS, using Tensor Cores").metric, "gemm.tf32.tflops");
}

TEST_F(GpuBurnImport, FabricManagerIsTheCauseAndTheOthersFollow) {
  const auto imported = import(
      "$ gpu_burn -d 60\nBurning for 60 seconds.\nGPU 0: NVIDIA H200 ...\n"
      "terminate called after throwing an instance of 'std::runtime_error'\n"
      "  what():  Error (gpu_burn-drv.cpp:101): system not yet initialized\n"
      "  what():  Error (gpu_burn-drv.cpp:101): OS call failed or operation not supported on this OS\n...\n");
  EXPECT_EQ(finding(imported, "cuda.802").severity, "error");
  EXPECT_EQ(finding(imported, "cuda.304").severity, "warning");
  EXPECT_EQ(measurement(imported, "gemm.fp64.tflops").status, Outcome::failed);
  EXPECT_THAT(partial(imported), HasSubstr("no summary"));
}

TEST_F(GpuBurnImport, ShortRunsAndSlowingOnesAreSaid) {
  std::string text = begin + good;
  text.replace(text.find("300 seconds"), 11, "10 seconds");
  EXPECT_THAT(notes(import(text)), HasSubstr("10 seconds are too short"));
  text =
      begin + good + "99.9%  proc'd: 990 (12000 Gflop/s) - 950 (19000 Gflop/s)   errors: 0 - 0   temps: 90 C - 66 C\n";
  EXPECT_THAT(finding(import(text), "import.slowing").text, HasSubstr("GPU 0 ended at 12.0 TFLOPS after 21.0"));
}

TEST_F(GpuBurnImport, AProcessInTheTableOfNvidiaSmiIsNoRun) {
  const auto imported = import(
      "GPU 0: NVIDIA H100 PCIe (UUID: GPU-00000000-0000-0000-0000-000000000007)\n"
      "|    0   N/A  N/A           21198      C   ./gpu_burn                             7484MiB |\n"
      "        Name                          : ./gpu_burn\n"
      "                <process_name>./gpu_burn</process_name>\n");
  EXPECT_EQ(imported.document.findings.size(), 0U);
  EXPECT_EQ(imported.files[0].formats, std::vector<std::string>{"nvidia-smi"});
}

TEST_F(GpuBurnImport, AnyBeginningIsRead) {
  expect_any_beginning_is_read(begin + good + end + "\tGPU 0: OK\n\tGPU 1: OK\n");
}

}  // namespace
}  // namespace claimcheck
