// What the sensors and the links of GPUs say about a low number.
#pragma once

#include <string>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

// Appends sentences "WHY -> WHAT NEXT", the most telling first. Reads the names of kernels/cuda (docs/judging.md); what
// is not there is not known, and explains nothing.
void gpu_reasons(const Document& document, const Measurement& measurement, std::vector<std::string>& found);

// What speaks about one GPU of the measurement alone, whatever was measured: clocks, heat, power, memory, PCIe, NVLink.
std::vector<std::string> reasons_of_gpu(const Document& document, const Measurement& measurement, int index);

}  // namespace claimcheck
