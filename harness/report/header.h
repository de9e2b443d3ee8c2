// What every report says first of a document: machine, software, plan, when, and what a reader must know.
#pragma once

#include <string>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck::report {

struct HeaderLine {
  std::string heading;  // "machine", or a warning in capitals: "VIRTUAL", "PARTIAL", "FAILED"
  std::string content;
};

// In the order they are shown.
std::vector<HeaderLine> header_lines(const Document& document);

bool is_warning(const HeaderLine& line);

}  // namespace claimcheck::report
