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
       nullptr},
      {"nccl-debug", "NCCL with NCCL_DEBUG", {"NCCL INFO ", "NCCL WARN ", "NCCL version "}, open_nccl_debug, nullptr},
      {"nvbandwidth",
       "nvbandwidth, text and JSON",
       {"nvbandwidth Version", "memcpy CE ", "memcpy SM ", "nvbandwidth -", "Invalid value when checking the pattern",
        "Waived:", "Waiving "},
       open_nvbandwidth,
       document_nvbandwidth},
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
