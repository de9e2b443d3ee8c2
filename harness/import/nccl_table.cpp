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

}  // namespace

NcclTable::Column NcclTable::column_of(std::string_view word) {
  if (word == "bytes" || word == "size" || word == "#size") return Column::size;
  if (word == "N" || word == "count") return Column::count;
  if (word == "type") return Column::type;
  if (word == "op" || word == "redop") return Column::redop;
  if (word == "#wrong" || word == "error" || word == "res") return Column::wrong;
  if (word == "time") return Column::time;
  if (word == "algbw") return Column::algbw;
  return word == "busbw" ? Column::busbw : Column::other;
}

// Layouts without a header, by the number of words and the place of the type.
std::vector<NcclTable::Column> NcclTable::layout_of(const Fields& fields) {
  std::vector<Column> columns = {Column::size, Column::count, Column::type};
  const std::size_t rest = fields.size() - 3;
  if (fields.size() < 11 || find_type(fields[2]) == nullptr) return {};
  if (rest < 8 || rest > 10) return {};
  if (rest >= 9) columns.push_back(Column::redop);
  if (rest == 10) columns.push_back(Column::other);  // root
  for (int half = 0; half < 2; ++half)
    columns.insert(columns.end(), {Column::time, Column::algbw, Column::busbw, Column::wrong});
  return columns;
}

void NcclTable::set(NcclHalf& half, Column column, std::string_view word) {
  const auto value = number(word);
  if (column == Column::time) half.time_us = value;
  if (column == Column::algbw) half.algbw = value;
  if (column == Column::busbw) half.busbw = value;
  if (column == Column::wrong) {
    half.wrong = value;
    half.unchecked = !value.has_value();
  }
}

bool NcclTable::header(std::string_view line) {
  if (!contains(line, "busbw") || !contains(line, "algbw") || contains(line, "|")) return false;
  const Fields fields(line);
  std::vector<Column> columns;
  bool wrong = false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == "#") continue;
    wrong = wrong || fields[i] == "#wrong";
    columns.push_back(column_of(fields[i]));
  }
  const auto has = [&](Column column) { return std::find(columns.begin(), columns.end(), column) != columns.end(); };
  if (!has(Column::size) || !has(Column::time)) return false;
  // What somebody put in front of the size, under whatever heading: a number of nodes, which sets the rows apart.
  if (columns.front() != Column::size && columns.size() > 1 && columns[1] == Column::size)
    columns.front() = Column::added;
  edited_ = !has(Column::count) || !has(Column::type);
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
  std::vector<Column> guessed;
  const std::vector<Column>* columns = &columns_;
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
    const Column column = (*columns)[i];
    const std::string_view word = fields[i + offset];
    switch (column) {
      case Column::added:
        row.nodes = first;
        break;
      case Column::size: {
        const auto bytes = number(word);
        if (!bytes || *bytes < 0) return std::nullopt;
        row.bytes = *bytes;
        break;
      }
      case Column::count:
        row.count = number(word);
        break;
      case Column::type:
        row.type = word;
        break;
      case Column::redop:
        row.op = word;
        break;
      case Column::other:
        break;
      default:
        times += column == Column::time ? 1 : 0;
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
