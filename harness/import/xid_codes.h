// Xid: the numbers under which NVIDIA's driver reports what went wrong with a GPU, and what they mean for a benchmark.
#pragma once

#include <string_view>

namespace claimcheck::importing {

struct XidCode {
  int code;
  std::string_view severity;  // error: a run meanwhile is void; warning: the program or a side path; info
  std::string_view meaning;
  std::string_view next_step;
};

// nullptr for numbers that are not in the table.
const XidCode* find_xid(int code);

}  // namespace claimcheck::importing
