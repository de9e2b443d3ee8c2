// One test of nvbandwidth, whether it came as text or as JSON, and what it means in our metrics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/import/collected.h"

namespace claimcheck::importing {

using Cells = std::vector<std::vector<std::optional<double>>>;  // rows; unset: N/A

struct NvbandwidthTest {
  std::string name;         // "host_to_device_memcpy_ce"
  std::string description;  // "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"
  Cells cells;
  std::optional<double> sum;
  bool waived = false;
  bool mismatch = false;  // data were wrong
  std::string failure;    // another error
  std::size_t line = 0;
};

// `devices`: how many the output lists, unset when it lists none.
void report_nvbandwidth(Collected& collected, const NvbandwidthTest& test, std::optional<std::size_t> devices);

// "0: NVIDIA H200 (00000000:8f:00): (node-1)" of JSON, "Device 0: NVIDIA H200 (00000000:8f:00)" of text, from the
// number on.
bool nvbandwidth_device(Collected& collected, std::string_view text);

// "[CUDA_ERROR_SYSTEM_NOT_READY] system not yet initialized in expression ...", "ASSERT in expression h_errorFlag == 0
// ..."
void nvbandwidth_error(Collected& collected, std::string_view text);

// Codes as CUDA counts them: 12040. A runtime newer than the driver's own CUDA works within a major version only.
void nvbandwidth_versions(Collected& collected, std::optional<double> runtime, std::optional<double> driver);

}  // namespace claimcheck::importing
