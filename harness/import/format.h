// Formats that can be imported. One is a file here with its reader, declared below and listed in formats.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/import/collected.h"
#include "harness/import/line.h"

namespace claimcheck::importing {

class Reader {
 public:
  virtual ~Reader() = default;
  // True when the line belongs to this format. A reader sees every line of a file once it is at work.
  virtual bool line(const Line& line) = 0;
  // The file is over; `whole` is false when its last line has no end. What is half read counts as far as it goes.
  virtual void end(bool whole) = 0;
};

struct Format {
  std::string_view name;  // as the command line takes it
  std::string_view says;  // what it is the output of, one line
  // Any of these texts in a line puts the reader to work from that line on.
  std::vector<std::string_view> marks;
  std::unique_ptr<Reader> (*open)(Collected& collected);  // nullptr: JSON only
  // Takes a JSON document that stands in a file; false when it is none of this format. nullptr: text only.
  bool (*document)(Collected& collected, const nlohmann::json& value);
};

const std::vector<Format>& formats();

// Throws UserError naming the valid ones and the nearest.
const Format& format_named(std::string_view name);

std::unique_ptr<Reader> open_nccl_tests(Collected& collected);
std::unique_ptr<Reader> open_nccl_debug(Collected& collected);
std::unique_ptr<Reader> open_nvbandwidth(Collected& collected);
bool document_nvbandwidth(Collected& collected, const nlohmann::json& value);
std::unique_ptr<Reader> open_gpu_burn(Collected& collected);
std::unique_ptr<Reader> open_measurements_csv(Collected& collected);
bool document_run_records(Collected& collected, const nlohmann::json& value);
bool document_google_benchmark(Collected& collected, const nlohmann::json& value);
bool document_nccl_tests(Collected& collected, const nlohmann::json& value);
std::unique_ptr<Reader> open_rocblas_bench(Collected& collected);
std::unique_ptr<Reader> open_gpu_stream(Collected& collected);
bool document_superbench(Collected& collected, const nlohmann::json& value);
std::unique_ptr<Reader> open_fio(Collected& collected);
bool document_fio(Collected& collected, const nlohmann::json& value);
std::unique_ptr<Reader> open_all_reduce_bench(Collected& collected);
std::unique_ptr<Reader> open_mamf_finder(Collected& collected);
std::unique_ptr<Reader> open_babelstream(Collected& collected);
std::unique_ptr<Reader> open_perftest(Collected& collected);
bool document_perftest(Collected& collected, const nlohmann::json& value);
std::unique_ptr<Reader> open_nvidia_smi(Collected& collected);
std::unique_ptr<Reader> open_kernel_log(Collected& collected);
std::unique_ptr<Reader> open_dcgm_diag(Collected& collected);
bool document_dcgm_diag(Collected& collected, const nlohmann::json& value);

}  // namespace claimcheck::importing
