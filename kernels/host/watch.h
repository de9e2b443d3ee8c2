// Evidence gathered while a benchmark runs on the CPU: clocks, temperature, steal, idle time, throttling.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::kernels::host {

// `whole_machine` adds what concerns all cores (load, control group, temperature) and samples ten times a second; else
// only the counters of `cores` are read, at the start and at the end.
std::unique_ptr<Watch> watch_cores(std::vector<int> cores, bool whole_machine, const std::filesystem::path& root = "/");

// Clock and temperature now; reads few files.
Facts sense_cores(const std::vector<int>& cores, bool whole_machine, const std::filesystem::path& root = "/");

}  // namespace claimcheck::kernels::host
