#include "harness/import/nccl_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace claimcheck::importing {
namespace {

struct Type {
  std::string_view name;
  double bytes;
  std::string_view ours;
};
constexpr std::array<Type, 19> types = {{{"float", 4, "fp32"},
                                         {"half", 2, "fp16"},
                                         {"bfloat16", 2, "bf16"},
                                         {"double", 8, "fp64"},
                                         {"int8", 1, "int8"},
                                         {"uint8", 1, "uint8"},
                                         {"char", 1, "int8"},
                                         {"int32", 4, "int32"},
                                         {"int", 4, "int32"},
                                         {"uint32", 4, "uint32"},
                                         {"int64", 8, "int64"},
                                         {"uint64", 8, "uint64"},
                                         {"f8e4m3", 1, "fp8_e4m3"},
                                         {"f8e5m2", 1, "fp8_e5m2"},
                                         {"fp8_e4m3", 1, "fp8_e4m3"},
                                         {"fp8_e5m2", 1, "fp8_e5m2"},
                                         {"float8e4m3", 1, "fp8_e4m3"},
                                         {"float8e5m2", 1, "fp8_e5m2"},
                                         {"long", 8, "int64"}}};

const Type* find_type(std::string_view name) {
  const auto found = std::find_if(types.begin(), types.end(), [&](const Type& type) { return type.name == name; });
  return found == types.end() ? nullptr : &*found;
}

// What somebody put in front of the size, under whatever heading: a number of nodes, which sets the rows apart.
constexpr std::string_view added = "added";

bool is_half(std::string_view column) {
  return column == "time" || column == "algbw" || column == "busbw" || column == "wrong";
}

// Layouts without a header, by the number of words and the place of the type.
std::vector<std::string> layout_of(const Fields& fields) {
  std::vector<std::string> columns = {"size", "count", "type"};
  const std::size_t rest = fields.size() - 3;
  if (fields.size() < 11 || find_type(fields[2]) == nullptr) return {};
  if (rest == 10) columns.insert(columns.end(), {"redop", "root"});
  if (rest == 9) columns.emplace_back("redop");
  if (rest < 8 || rest > 10) return {};
  for (int half = 0; half < 2; ++half) columns.insert(columns.end(), {"time", "algbw", "busbw", "wrong"});
  return columns;
}

void set(NcclHalf& half, std::string_view column, std::string_view word) {
  const auto value = number(word);
  if (column == "time") half.time_us = value;
  if (column == "algbw") half.algbw = value;
  if (column == "busbw") half.busbw = value;
  if (column == "wrong") {
    half.wrong = value;
    half.unchecked = !value.has_value();
  }
}

}  // namespace

bool NcclTable::header(std::string_view line) {
  if (!contains(line, "busbw") || !contains(line, "algbw") || contains(line, "|")) return false;
  const Fields fields(line);
  std::vector<std::string> columns;
  bool wrong = false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string_view word = fields[i];
    if (word == "#") continue;
    if (word == "bytes" || word == "size" || word == "#size") word = "size";
    if (word == "N" || word == "count") word = "count";
    if (word == "op" || word == "redop") word = "redop";
    wrong = wrong || word == "#wrong";
    if (word == "#wrong" || word == "error" || word == "res") word = "wrong";
    columns.emplace_back(word);
  }
  const auto has = [&](const char* name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  if (!has("size") || !has("time")) return false;
  if (columns.front() != "size" && columns.size() > 1 && columns[1] == "size") columns.front() = added;
  edited_ = !has("count") || !has("type");
  columns_ = std::move(columns);
  counts_wrong_ = wrong;
  milliseconds_ = contains(line, " bytes ") && contains(line, " res");  // NCCL 1
  return true;
}

bool NcclTable::units(std::string_view line) {
  if (contains(line, "out-of-place") && contains(line, "in-place")) return true;
  if (!contains(line, "(GB/s)") || !contains(line, "s)")) return false;
  if (contains(line, "(ms)")) milliseconds_ = true;
  return contains(line, "(B)") || contains(line, "(us)") || contains(line, "(ms)");
}

std::optional<NcclRow> NcclTable::row(const Fields& fields) const {
  if (fields.size() < 4) return std::nullopt;
  const auto first = number(fields[0]);
  if (!first || *first < 0 || *first != std::floor(*first)) return std::nullopt;
  std::vector<std::string> guessed;
  const std::vector<std::string>* columns = &columns_;
  std::size_t offset = 0;
  NcclRow row;
  if (columns_.size() != fields.size()) {
    const bool one_more = !columns_.empty() && fields.size() == columns_.size() + 1 && fields.size() > 4;
    const bool type_moved =
        one_more && columns_.size() > 3 && find_type(fields[3]) != nullptr && find_type(fields[2]) == nullptr;
    if (type_moved) {
      offset = 1;
      row.nodes = first;
    } else {
      guessed = layout_of(fields);
      if (guessed.empty()) return std::nullopt;
      columns = &guessed;
    }
  }
  std::size_t times = 0;
  for (std::size_t i = 0; i < columns->size(); ++i) {
    const std::string& column = (*columns)[i];
    const std::string_view word = fields[i + offset];
    if (column == added) {
      row.nodes = first;
    } else if (column == "size") {
      const auto bytes = number(word);
      if (!bytes || *bytes < 0) return std::nullopt;
      row.bytes = *bytes;
    } else if (column == "count") {
      row.count = number(word);
    } else if (column == "type") {
      row.type = word;
    } else if (column == "redop") {
      row.op = word;
    } else if (is_half(column)) {
      times += column == "time" ? 1 : 0;
      set(times < 2 ? row.out : row.in, column, word);
    }
  }
  row.two_halves = times > 1;
  if (milliseconds_)
    for (NcclHalf* half : {&row.out, &row.in})
      if (half->time_us) *half->time_us *= 1000;
  if (!row.out.time_us && !row.in.time_us) return std::nullopt;
  return row;
}

std::optional<double> nccl_type_bytes(std::string_view type) {
  const Type* found = find_type(type);
  return found == nullptr ? std::nullopt : std::optional(found->bytes);
}

std::string nccl_type_name(std::string_view type) {
  const Type* found = find_type(type);
  return std::string(found == nullptr ? type : found->ours);
}

}  // namespace claimcheck::importing
