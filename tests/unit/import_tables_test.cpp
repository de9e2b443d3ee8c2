// all_reduce_bench.py and mamf-finder.py of ml-engineering, nccl-tests as JSON, rocblas-bench.
#include "tests/unit/import_tools_support.h"

namespace claimcheck {
namespace {

using ::testing::HasSubstr;

class TableImport : public ToolImports {};

TEST_F(TableImport, AllReduceBenchHasUnitsInItsCells) {
  const auto imported = import(
      "$ python -u -m torch.distributed.run --nproc_per_node=4 all_reduce_bench.py\n\n"
      "| payload |    busbw   |    algbw   |\n| ------: | ---------: | ---------: |\n"
      "|   64KiB |   3.00GBps |   2.00GBps |\n|    4GiB | 225.00GBps | 150.00GBps |\n");
  const Measurement busbw = measurement(imported, "allreduce.busbw.gbps", "bytes:4294967296");
  EXPECT_DOUBLE_EQ(*busbw.value, 225.0);
  EXPECT_EQ(busbw.conditions["ranks"], 4);  // 225 / 150 = 2 x 3 / 4
  EXPECT_EQ(busbw.conditions["method"], "all_reduce_bench.py");
  EXPECT_NEAR(*measurement(imported, "allreduce.algbw.gbps", "bytes:4294967296").value, 150.0, 1e-9);
  EXPECT_EQ(partial(imported), "");
  EXPECT_EQ(imported.files.front().not_understood, 0U);
}

TEST_F(TableImport, OldAllReduceBenchMeasuresOneSize) {
  const auto imported = import(
      "The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 4 ranks):\n algbw: 100.000 GBps (800.0 "
      "Gbps)\n"
      " busbw: 150.000 GBps (1200.0 Gbps)\n");
  const Measurement busbw = measurement(imported, "allreduce.busbw.gbps");
  EXPECT_DOUBLE_EQ(*busbw.value, 150.0);
  EXPECT_EQ(busbw.conditions["bytes"], 4294967296.0);
}

TEST_F(TableImport, MamfTakesTheMedianAndNotTheBestRepetition) {
  const auto imported = import(
      "Command line: mamf-finder.py --m_range 0 1024 256 --dtype bfloat16\n** Dtype: torch.bfloat16\n"
      "Warming up the accelerator for 30 secs ... accelerator warmup finished\n"
      "Tried  5 shapes => the best outcomes were:\nmean:   600.1 TFLOPS @ 2048x4096x4096 (MxNxK)\n"
      "median: 601.2 TFLOPS @ 4096x4096x4096 (MxNxK)\nmax:    799.9 TFLOPS @ 256x4096x4096 (MxNxK)\n"
      "\nElapsed time: 0:00:09\n");
  const Measurement gemm = measurement(imported, "gemm.bf16.tflops");
  EXPECT_DOUBLE_EQ(*gemm.value, 601.2);
  EXPECT_EQ(gemm.conditions["shape"], "4096x4096x4096");
  EXPECT_DOUBLE_EQ(gemm.evidence["best_repetition"].get<double>(), 799.9);
  EXPECT_THAT(notes(imported), HasSubstr("that is one die"));
}

TEST_F(TableImport, StoppedMamfCountsTheBestSoFar) {
  const auto imported = import(
      "** Dtype: torch.float16\n  1 |  50.0(mean)  51.0(median)  52.0(max) @ 1024x1024x1024 | best:  50.0(mean)  "
      "51.0(median)  52.0(max) TFLOPS\r  2 |  60.0(mean)  61.0(median)  62.0(max) @ 2048x1024x1024 | best:  60.0(mean) "
      " "
      "61.0(median)  62.0(max) TFLOPS\r");
  EXPECT_DOUBLE_EQ(*measurement(imported, "gemm.fp16.tflops").value, 61.0);
  EXPECT_THAT(partial(imported), HasSubstr("stopped before its summary"));
}

TEST_F(TableImport, OldMamfHasOneOutcome) {
  const auto imported = import(
      "$ ./mamf-finder.py --dtype bfloat16\nThe best outcome was 250.5TFLOPS @ 1024x2048x4096 (MxNxK) (tried 9 "
      "shapes)\n");
  EXPECT_DOUBLE_EQ(*measurement(imported, "gemm.bf16.tflops").value, 250.5);
}

TEST_F(TableImport, NcclJsonOfOneProcessWithFourGpus) {
  const auto imported =
      import(R"({"version":2,"start_time":"2026-01-01 00:00:00","args":["./build/all_reduce_perf","-g","4"],
"env":[],"nccl_version":22703,"config":{"nthreads":1,"ngpus":4,"minimum_bytes":1048576,"maximum_bytes":1073741824,"step_factor":1024,
"warmup_iters":1,"iterations":20,"aggregated_iterations":1,"validation":1,"graph":0,
"devices":[{"rank":0,"group":0,"pid":1,"hostname":"n1","device":0,"device_hex":"0000:1b:00","device_info":"NVIDIA A40"}]},
"results":[{"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":100.0,"alg_bw":10.48576,"bus_bw":15.72864,"nwrong":0.0},"in_place":{"time":100.0,"alg_bw":10.48576,"bus_bw":15.72864,"nwrong":null}},
{"size":1073741824,"count":268435456,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":10000.0,"alg_bw":107.3741824,"bus_bw":161.0612736,"nwrong":3.0},"in_place":{"time":10000.0,"alg_bw":107.3741824,"bus_bw":161.0612736,"nwrong":0.0}}],
"out_of_bounds":{"count":3,"okay":"false"},"average_bus_bandwidth":{"bandwidth":88.394957,"okay":"unchecked"},"errors":[""],"end_time":"x"}
)");
  const Measurement first = measurement(imported, "allreduce.busbw.gbps", "bytes:1048576");
  EXPECT_DOUBLE_EQ(*first.value, 15.72864);
  EXPECT_EQ(first.conditions["ranks"], 4);
  EXPECT_EQ(first.conditions["nodes"], 1);
  EXPECT_EQ(first.conditions["checked"], true);
  EXPECT_EQ(measurement(imported, "allreduce.busbw.gbps", "bytes:1048576/in_place").conditions["checked"], false);
  EXPECT_EQ(measurement(imported, "allreduce.busbw.gbps", "bytes:1073741824").status, Outcome::wrong_result);
  EXPECT_EQ(finding(imported, "import.out_of_bounds").severity, "error");
  EXPECT_EQ(imported.document.system["software"]["nccl"], "2.27.3");
  EXPECT_EQ(imported.document.system["devices"].size(), 4U);
  EXPECT_EQ(partial(imported), "");
}

TEST_F(TableImport, RocblasBenchNeedsTheTypeOfTheCommand) {
  const std::string table =
      "transA,transB,M,N,K,alpha,lda,ldb,beta,ldc,rocblas-Gflops,us\nN,T,4096,4096,4096,1,4096,4096,0,4096,41250.5,"
      "3332\n";
  const auto imported = import("$ rocblas-bench -f gemm -r d -m 4096 -n 4096 -k 4096\n" + table);
  const Measurement gemm = measurement(imported, "gemm.fp64.tflops");
  EXPECT_DOUBLE_EQ(*gemm.value, 41.2505);
  EXPECT_EQ(gemm.conditions["shape"], "4096x4096x4096");
  EXPECT_EQ(gemm.conditions["checked"], false);
  const auto unknown =
      importing::Imported(import("rocblas-bench -f gemm_ex -r s\n" + table + "rocblas-bench -f gemm\n" + table));
  EXPECT_EQ(unknown.document.measurements.size(), 1U);
  EXPECT_THAT(notes(unknown), HasSubstr("in which data type is not in the log"));
}

TEST_F(TableImport, HipblasltNamesTypesInColumns) {
  const auto imported = import(
      "[0]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,a_type,b_type,c_type,hipblaslt-Gflops,hipblaslt-GB/s,us\n"
      "    N,N,0,1,8192,8192,8192,1,bf16_r,bf16_r,bf16_r,600000,120.5,1832\n");
  EXPECT_DOUBLE_EQ(*measurement(imported, "gemm.bf16.tflops").value, 600.0);
}

}  // namespace
}  // namespace claimcheck
