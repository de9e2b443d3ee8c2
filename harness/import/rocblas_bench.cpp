// rocblas-bench and hipblaslt-bench: a line of column names, then one of values. The data type stands in the command or
// in columns; where it is nowhere, no metric can take the rate.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"
#include "harness/result/metrics.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

// Names of types in commands and columns, with or without "_r".
std::string type_of(std::string_view word) {
  if (word.ends_with("_r")) word.remove_suffix(2);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 17> names = {{{"f64", "fp64"},
                                                                                    {"d", "fp64"},
                                                                                    {"f32", "fp32"},
                                                                                    {"s", "fp32"},
                                                                                    {"xf32", "tf32"},
                                                                                    {"f16", "fp16"},
                                                                                    {"h", "fp16"},
                                                                                    {"bf16", "bf16"},
                                                                                    {"i8", "int8"},
                                                                                    {"f8", "fp8_e4m3"},
                                                                                    {"f8_fnuz", "fp8_e4m3"},
                                                                                    {"bf8", "fp8_e5m2"},
                                                                                    {"bf8_fnuz", "fp8_e5m2"},
                                                                                    {"f4", "fp4"},
                                                                                    {"fp16", "fp16"},
                                                                                    {"fp32", "fp32"},
                                                                                    {"fp64", "fp64"}}};
  for (const auto& [name, type] : names)
    if (word == name) return std::string(type);
  return "";
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  while (cells.size() < 128) {
    const std::size_t comma = line.find(',');
    std::string cell(trimmed(line.substr(0, comma)));
    std::transform(cell.begin(), cell.end(), cell.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    cells.push_back(std::move(cell));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return cells;
}

class RocblasBench : public Reader {
 public:
  explicit RocblasBench(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    // "[0]:transA,..." of hipblaslt-bench
    if (text.front() == '[')
      if (const std::size_t colon = text.find("]:"); colon != std::string_view::npos)
        text = trimmed(text.substr(colon + 2));
    if (contains(text, "rocblas-bench ") || contains(text, "hipblaslt-bench ")) return command(text);
    if (contains(text, "-Gflops")) {
      columns_ = cells_of(text);
      tool_ = contains(text, "hipblaslt") ? "hipblaslt-bench" : "rocblas-bench";
      return true;
    }
    if (!columns_.empty() && contains(text, ",")) return row(text);
    if (const auto name = after(text, "Device ID "); name && contains(text, ":")) {
      const auto index = importing::number(name->substr(0, name->find_first_of(" :")));
      const std::string_view rest = trimmed(name->substr(name->find(':') + 1));
      if (index && *index >= 0 && *index < 4096 && !rest.empty())
        collected_.device(static_cast<int>(*index), {{"name", rest.substr(0, rest.find(" gfx"))}});
      return true;
    }
    return text.starts_with("Query device success") || text.starts_with("rocBLAS info:") ||
           text.starts_with("rocBLAS version") || text.starts_with("hipBLASLt version") ||
           text.starts_with("Is supported") || text.starts_with("with ") || text.starts_with("-----");
  }

  void end(bool whole) override {
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    if (!columns_.empty() && !any_)
      collected_.partial("column names without a line of values: the run failed or was cut");
  }

 private:
  bool command(std::string_view text) {
    type_.clear();
    const Fields words(text);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "-r" || words[i] == "--precision" || words[i] == "--a_type") type_ = type_of(words[i + 1]);
      if ((words[i] == "-f" || words[i] == "--function") && !contains(words[i + 1], "gemm"))
        type_ = "";  // another function: its rate is no matrix product's
      if (words[i] == "--compute_type" && contains(words[i + 1], "xf32")) type_ = "tf32";
    }
    return true;
  }

  std::string cell(const std::vector<std::string>& cells, std::string_view name) const {
    for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i)
      if (columns_[i] == name) return cells[i];
    return "";
  }

  bool row(std::string_view text) {
    const auto cells = cells_of(text);
    if (cells.size() < columns_.size()) return false;
    const bool product = !cell(cells, "m").empty() && !cell(cells, "n").empty() && !cell(cells, "k").empty() &&
                         !cell(cells, "transa").empty();
    std::optional<double> rate;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] == "rocblas-gflops" || columns_[i] == "hipblaslt-gflops" || columns_[i] == "hipblas-gflops")
        rate = importing::number(cells[i]);
    if (!rate) return false;
    any_ = true;
    if (!product) {
      collected_.note(fmt::format("{}: {:.1f} GFLOPS of a function that is no matrix product", tool_, *rate));
      return true;
    }
    std::string type = type_of(cell(cells, "a_type"));
    if (type.empty()) type = type_of(cell(cells, "precision"));
    if (type.empty()) type = type_;
    const std::string shape = cell(cells, "m") + "x" + cell(cells, "n") + "x" + cell(cells, "k");
    const std::string metric = fmt::format("gemm.{}.{}", type, type == "int8" ? "tops" : "tflops");
    if (type.empty() || find_metric(metric) == nullptr) {
      collected_.note(
          fmt::format("{}: {:.1f} TFLOPS at {}, but in which data type is not in the log", tool_, *rate / 1e3, shape));
      return true;
    }
    json conditions = {{"method", tool_},
                       {"data_type", type},
                       {"shape", shape},
                       {"transposed", cell(cells, "transa") + cell(cells, "transb")}};
    if (const std::string batch = cell(cells, "batch_count"); !batch.empty() && batch != "1")
      conditions["batch"] = batch;
    Measurement made = measured(fmt::format("gemm.{}/{}/{}", type, tool_, shape), metric,
                                type == "int8" ? "TOPS" : "TFLOPS", *rate / 1e3, conditions);
    if (!(*rate > 0)) {
      made.status = Outcome::failed;
      made.reason = "0 is no rate";
      made.value.reset();
    }
    if (const auto time = importing::number(cell(cells, "us"))) made.evidence["microseconds"] = *time;
    const std::string error =
        cell(cells, "norm_error_1").empty() ? cell(cells, "norm-error") : cell(cells, "norm_error_1");
    made.conditions["checked"] = !error.empty();
    collected_.add(made);
    return true;
  }

  Collected& collected_;
  std::vector<std::string> columns_;
  std::string tool_, type_;
  bool any_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_rocblas_bench(Collected& collected) { return std::make_unique<RocblasBench>(collected); }

}  // namespace claimcheck::importing
