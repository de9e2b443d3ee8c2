// BabelStream and its kin, gpu_stream of SuperBench.
#include "tests/unit/import_tools_support.h"

namespace claimcheck {
namespace {

using ::testing::HasSubstr;

class StreamImport : public ToolImports {
 protected:
  const std::string table =
      "BabelStream\nVersion: 5.0\nImplementation: CUDA\nRunning kernels 100 times\nPrecision: double\n"
      "Array size: 268.4 MB (=0.3 GB)\nTotal size: 805.3 MB (=0.8 GB)\nUsing CUDA device NVIDIA T4\nDriver: 12020\n"
      "Function    MBytes/sec  Min (sec)   Max         Average     \n"
      "Copy        240000.000  0.00200     0.00300     0.00240     \n"
      "Mul         241000.000  0.00200     0.00300     0.00240     \n"
      "Add         250000.000  0.00300     0.00400     0.00330     \n"
      "Triad       251500.500  0.00300     0.00400     0.00330     \n"
      "Dot         260000.000  0.00200     0.00300     0.00240     \n";
};

TEST_F(StreamImport, TableOfBabelStream) {
  const auto imported = import(table);
  const Measurement triad = measurement(imported, "memory.triad.gbps");
  EXPECT_DOUBLE_EQ(*triad.value, 251.5005);
  EXPECT_NEAR(triad.evidence["average_gbps"].get<double>(), 251.5005 * 0.003 / 0.0033, 1e-9);
  EXPECT_EQ(triad.conditions["data_type"], "fp64");
  EXPECT_DOUBLE_EQ(triad.conditions["bytes"].get<double>(), 268.4 * 1048576);
  EXPECT_DOUBLE_EQ(*measurement(imported, "memory.scale.gbps").value, 241.0);  // "Mul"
  EXPECT_EQ(imported.document.measurements.size(), 4U);
  EXPECT_EQ(imported.document.system["devices"][0]["name"], "NVIDIA T4");
  EXPECT_THAT(notes(imported), HasSubstr("whether ECC was on is not in the log"));
  EXPECT_EQ(imported.files.front().not_understood, 0U);
}

TEST_F(StreamImport, EccOnAndOffAreTwoMeasurements) {
  std::string off = table;
  off.replace(off.find("251500.500"), 10, "290000.000");
  const auto imported = import("### ECC: on\n" + table + "\n### ECC: off\n" + off);
  EXPECT_DOUBLE_EQ(*measurement(imported, "memory.triad.gbps", "ecc:on").value, 251.5005);
  EXPECT_DOUBLE_EQ(*measurement(imported, "memory.triad.gbps", "ecc:off").value, 290.0);
  EXPECT_EQ(measurement(imported, "memory.triad.gbps", "ecc:off").conditions["ecc"], "off");
}

TEST_F(StreamImport, OneDieOfABoardIsSaid) {
  std::string of_two = table;
  const std::size_t begin = of_two.find("Using CUDA device ");
  ASSERT_NE(begin, std::string::npos);
  of_two.replace(begin, of_two.find('\n', begin) - begin, "Using CUDA device Tesla K80");
  EXPECT_THAT(notes(import(of_two)), HasSubstr("\"Tesla K80\" is one of the two dies of its board"));
}

TEST_F(StreamImport, FailedValidationHasNoNumbers) {
  const std::string line = "Validation failed on sum. Error 12.5\nSum was 1 but should be 13.5\n";
  const std::size_t at = table.find("Function");
  for (const std::string& text : {table.substr(0, at) + line + table.substr(at), table + line}) {
    const auto imported = import(text);
    const Measurement triad = measurement(imported, "memory.triad.gbps");
    EXPECT_EQ(triad.status, Outcome::wrong_result);
    EXPECT_FALSE(triad.value.has_value());
    EXPECT_DOUBLE_EQ(triad.evidence["untrusted_gbps"].get<double>(), 251.5005);
    EXPECT_THAT(finding(imported, "import.validation_failed").text, HasSubstr("Error 12.5"));
  }
}

TEST_F(StreamImport, UnitsAreThoseOfTheHeader) {
  std::string text = table;
  text.replace(text.find("MBytes/sec"), 10, "MiBytes/sec");
  EXPECT_DOUBLE_EQ(*measurement(import(text), "memory.copy.gbps").value, 240000.0 * 1048576 / 1e9);
  text = table;
  text.replace(text.find("MBytes/sec"), 10, "GBytes/sec");
  text.replace(text.find("240000.000"), 10, "240.000");
  EXPECT_DOUBLE_EQ(*measurement(import(text), "memory.copy.gbps").value, 240.0);
}

TEST_F(StreamImport, Csv) {
  const auto imported = import(
      "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n"
      "Copy,100,33554432,8,1500000.0,0.000357,0.0004,0.00036\nTriad,100,33554432,8,1600000.0,0.0005,0.0006,0.0005\n");
  const Measurement triad = measurement(imported, "memory.triad.gbps");
  EXPECT_DOUBLE_EQ(*triad.value, 1600.0);
  EXPECT_DOUBLE_EQ(triad.conditions["bytes"].get<double>(), 268435456.0);
}

TEST_F(StreamImport, StreamOfMcCalpin) {
  const auto imported = import(
      "STREAM version $Revision: 5.10 $\nThis system uses 8 bytes per array element.\n"
      "Array size = 80000000 (elements), Offset = 0 (elements)\n"
      "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
      "Copy:          120000.0     0.011000     0.010667     0.012000\n"
      "Triad:         130000.0     0.015000     0.014769     0.016000\nSolution Validates: avg error less than "
      "1e-13\n");
  const Measurement triad = measurement(imported, "memory.triad.gbps");
  EXPECT_DOUBLE_EQ(*triad.value, 130.0);
  EXPECT_DOUBLE_EQ(triad.conditions["bytes"].get<double>(), 640000000.0);
  EXPECT_NEAR(triad.evidence["average_gbps"].get<double>(), 127.998, 1e-3);
}

TEST_F(StreamImport, GpuStreamKeepsEachGpuAndTheSlowestCounts) {
  const auto imported = import(
      "STREAM Benchmark\nBuffer size(bytes): 1073741824\nCheck data: No\n\n"
      "Device 0: \"NVIDIA Graphics Device\"  100 SMs(9.9)  Memory: 2000MHz x 4096-bit = 2048 GB/s PEAK   ECC is ON\n"
      "STREAM_TRIAD_double_gpu_0_buffer_1073741824_block_256   1800.50 87.91\n"
      "Device 1: \"NVIDIA Graphics Device\"  100 SMs(9.9)  Memory: 2000.00MHz x 4096-bit = 2048.00 GB/s PEAK   ECC is "
      "ON\n"
      "STREAM_TRIAD_double_gpu_1_buffer_1073741824_block_256   1790.25 87.41\n");
  const Measurement triad = measurement(imported, "memory.triad.gbps", "block:256");
  EXPECT_DOUBLE_EQ(*triad.value, 1790.25);
  ASSERT_EQ(triad.devices.size(), 2U);
  EXPECT_EQ(triad.conditions["ecc"], "on");
  EXPECT_EQ(triad.conditions["checked"], false);
  EXPECT_DOUBLE_EQ(imported.document.system["devices"][1]["facts"]["printed_peak_gbps"].get<double>(), 2048.0);
  EXPECT_THAT(notes(imported), HasSubstr("no product"));
}

TEST_F(StreamImport, AnyBeginningIsRead) { expect_any_beginning_is_read(table); }

}  // namespace
}  // namespace claimcheck
