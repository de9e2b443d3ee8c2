// The table of formats, and look-up by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/error.h"
#include "harness/import/format.h"
#include "harness/nearest.h"

namespace claimcheck::importing {

const std::vector<Format>& formats() {
  static const std::vector<Format> table = {
      {"nccl-tests",
       "nccl-tests and rccl-tests",
       {"# nThread ", "algbw", "# Using devices", "_perf", "nccl-tests version", "rccl-tests", "Out of bounds values",
        "Avg bus bandwidth", "Test CUDA failure", "Test NCCL failure"},
       open_nccl_tests,
       document_nccl_tests},
      {"nccl-debug", "NCCL with NCCL_DEBUG", {"NCCL INFO ", "NCCL WARN ", "NCCL version "}, open_nccl_debug, nullptr},
      {"nvbandwidth",
       "nvbandwidth, text and JSON",
       {"nvbandwidth Version", "memcpy CE ", "memcpy SM ", "nvbandwidth -", "Invalid value when checking the pattern",
        "Waived:", "Waiving "},
       open_nvbandwidth,
       document_nvbandwidth},
      {"perftest",
       "ib_write_bw, ib_read_bw, ib_send_bw, *_lat of perftest, text and JSON",
       {"BW Test", "Latency Test", "BW average[", "t_typical[", "t_avg[usec]", "BW peak won't be measured", "ib_write_",
        "ib_read_", "ib_send_", "initializing CUDA"},
       open_perftest,
       document_perftest},
      {"fio",
       "fio, text and --output-format=json, alone and as client",
       {"fio=fio-", "Disk stats (read/write)", ": (g=", ": (groupid="},
       open_fio,
       document_fio},
      {"gpu-burn",
       "gpu-burn",
       {"proc'd:", "gpu_burn", "Burning for ", "Using compare file", "No clients are alive", "thus performing"},
       open_gpu_burn,
       nullptr},
      {"babelstream",
       "BabelStream, GPU-STREAM and STREAM, text and CSV",
       {"BabelStream", "GPU-STREAM", "MBytes/sec", "MiBytes/sec", "GBytes/sec", "Best Rate MB/s", "STREAM version",
        "function,num_times", "Validation failed on", "phase,n_elements"},
       open_babelstream,
       nullptr},
      {"all-reduce-bench",
       "all_reduce_bench.py of ml-engineering",
       {"all_reduce_bench", "| payload |", "average bandwidth of all_reduce"},
       open_all_reduce_bench,
       nullptr},
      {"mamf-finder",
       "mamf-finder.py of ml-engineering",
       {"mamf-finder", "(MxNxK)", "best outcomes were:", "** Dtype:", "Warming up the accelerator"},
       open_mamf_finder,
       nullptr},
      {"gpu-stream", "gpu_stream of SuperBench, text", {"STREAM Benchmark", "STREAM_COPY_"}, open_gpu_stream, nullptr},
      {"superbench", "results and diagnosis of SuperBench, JSON", {}, nullptr, document_superbench},
      {"google-benchmark", "JSON of Google Benchmark", {}, nullptr, document_google_benchmark},
      {"rocblas-bench",
       "rocblas-bench and hipblaslt-bench",
       {"rocblas-Gflops", "hipblaslt-Gflops", "rocblas-bench ", "hipblaslt-bench "},
       open_rocblas_bench,
       nullptr},
      {"csv",
       "measurements as CSV, ours and your own",
       {"metric,value", "value,metric", "unit,metric", "metric,unit", ",metric,", "Price,", "price,", ",Price",
        ",price"},
       open_measurements_csv,
       nullptr},
      {"run-records", "JSON records of runs without result", {}, nullptr, document_run_records},
      {"nvidia-smi",
       "nvidia-smi: -q, -q -x, the table, -L, topo -m, topo -p2p, nvlink -s, --query-gpu CSV",
       {"NVSMI LOG",
        "<nvidia_smi_log",
        "NVIDIA-SMI",
        "(UUID: GPU-",
        "CPU Affinity",
        " GPU0  ",
        "\tGPU0",
        "No devices were found",
        "Failed to initialize NVML",
        "Unable to determine the device handle",
        "Clocks Throttle Reasons",
        "Clocks Event Reasons",
        "Retired Pages",
        "Remapped Rows",
        "    ECC Errors",
        "GPU 0000",
        ", name,",
        "name, ",
        ", uuid",
        "uuid, ",
        "pci.bus_id",
        "index, ",
        " MiB, ",
        ", GPU-",
        "utilization.gpu [%]",
        "memory.total [MiB]",
        "power.draw [W]"},
       open_nvidia_smi,
       nullptr},
      {"kernel-log",
       "the kernel's log (dmesg, journalctl -k, /dev/kmsg): Xid and what the NVIDIA driver says",
       {"NVRM:", "Xid (", "SXid", "nvidia-peermem", "nvidia_peermem", "fabricmanager", "fabric manager",
        "AER:", "nvidia-nvswitch", "nvidia: probe of", "nvidia 0000:", "fallen off the bus"},
       open_kernel_log,
       nullptr},
      {"dcgmi-diag",
       "dcgmi diag, DCGM 3 and 4, table and JSON",
       {"| Diagnostic ", "Successfully ran diagnostic", "dcgmi diag"},
       open_dcgm_diag,
       document_dcgm_diag},
  };
  return table;
}

const Format& format_named(std::string_view name) {
  std::vector<std::string> names = {"auto"};
  for (const Format& format : formats()) {
    if (format.name == name) return format;
    names.emplace_back(format.name);
  }
  const auto near = nearest(name, names, 1);
  throw UserError(fmt::format("\"{}\" is no tool whose output can be imported: expected one of {}{}", name,
                              fmt::join(names, ", "),
                              near.empty() ? std::string() : "; nearest: " + quoted_choice(near)));
}

}  // namespace claimcheck::importing
