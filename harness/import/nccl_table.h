// The table of nccl-tests and rccl-tests, in every layout since NCCL 1. Columns are told by the header's words, without
// one by their number; offsets mean nothing, since people edit and launchers indent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/import/fields.h"

namespace claimcheck::importing {

// One half of a row: out of place or in place. What is not a number is unset.
struct NcclHalf {
  std::optional<double> time_us;
  std::optional<double> algbw;
  std::optional<double> busbw;
  std::optional<double> wrong;  // the last column, whatever it is called
  bool unchecked = true;        // it says N/A, or is not there
};

struct NcclRow {
  double bytes = 0;
  std::optional<double> count;
  std::string_view type;
  std::string_view op;
  NcclHalf out;
  NcclHalf in;
  bool two_halves = true;
  std::optional<double> nodes;  // a column that somebody put in front
};

class NcclTable {
 public:
  // Whether the line is a header ("size count type redop root time algbw busbw #wrong ..."); the columns are its.
  bool header(std::string_view line);
  // Whether it is the line of units under one, or the one that says out-of-place and in-place over it.
  bool units(std::string_view line);
  std::optional<NcclRow> row(const Fields& fields) const;

  bool has_columns() const { return !columns_.empty(); }
  // "#wrong" counts values; "error" is a deviation by rounding, "res" likewise.
  bool counts_wrong() const { return counts_wrong_; }
  bool edited() const { return edited_; }

 private:
  enum class Column { size, count, type, redop, time, algbw, busbw, wrong, added, other };
  static Column column_of(std::string_view word);
  static std::vector<Column> layout_of(const Fields& fields);
  static void set(NcclHalf& half, Column column, std::string_view word);

  std::vector<Column> columns_;
  bool counts_wrong_ = true;
  bool milliseconds_ = false;
  bool edited_ = false;  // columns are missing
};

// Bytes of an element of NCCL's type names ("float", "bfloat16"), and the name we use ("fp32"); unset when unknown.
std::optional<double> nccl_type_bytes(std::string_view type);
std::string nccl_type_name(std::string_view type);

}  // namespace claimcheck::importing
