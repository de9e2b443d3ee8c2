// BabelStream, GPU-STREAM before it, and McCalpin's STREAM: text and CSV. Their rate is that of the fastest pass; the
// table's own header says the unit. A table under "Validation failed" is no result.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"
#include "harness/report/quantity.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

struct Kernel {
  std::string_view name;  // lower case
  std::string_view metric;
};
constexpr std::array<Kernel, 5> kernels = {{{"copy", "memory.copy"},
                                            {"mul", "memory.scale"},
                                            {"scale", "memory.scale"},
                                            {"add", "memory.add"},
                                            {"triad", "memory.triad"}}};
constexpr double small_array = 64.0 * 1048576;

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

// Bytes a second of one unit of the header; unset when it names none.
std::optional<double> unit_of(std::string_view header) {
  const std::string text = lower(header);
  const auto has = [&](std::string_view part) { return contains(text, part); };
  if (has("mibytes") || has("mib/s")) return 1048576.0;
  if (has("gibytes") || has("gib/s")) return 1073741824.0;
  if (has("mbytes") || has("mb/s")) return 1e6;
  if (has("gbytes") || has("gb/s")) return 1e9;
  return std::nullopt;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (cells.size() < 32) {
    const std::size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return cells;
}

class BabelStream : public Reader {
 public:
  explicit BabelStream(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    return separator(text) || heading(text) || validation(text) || header(text) || csv_row(text) || row(text);
  }

  void end(bool whole) override {
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    finish();
  }

 private:
  struct Row {
    double gbps = 0;
    std::optional<double> average_gbps;
  };

  // "### ECC on": what somebody wrote between two runs of one card.
  bool separator(std::string_view text) {
    const std::string words = " " + lower(text) + " ";
    const std::size_t at = words.find("ecc");
    if (at == std::string::npos || text.size() > 60) return false;
    const auto says = [&](std::string_view part) { return words.find(part, at) != std::string::npos; };
    const bool on = says(" on ") || says("=on") || says("enabled") || says(":on");
    const bool off = says(" off ") || says("=off") || says("disabled") || says(":off");
    if (on == off) return false;
    finish();
    next_ecc_ = on ? "on" : "off";
    return true;
  }

  bool heading(std::string_view text) {
    if (text == "BabelStream" || text == "GPU-STREAM" || text.starts_with("STREAM version")) {
      finish();
      begin();
      name_ = text == "GPU-STREAM" ? "GPU-STREAM" : text == "BabelStream" ? "BabelStream" : "STREAM";
      return true;
    }
    if (text.starts_with("Precision:")) {
      const std::string kind = lower(text);
      type_ = contains(kind, "double") ? "fp64" : contains(kind, "float") || contains(kind, "single") ? "fp32" : "";
      return true;
    }
    if (const auto rest = after(text, "bytes per array element"); rest && contains(text, "This system uses")) {
      type_ = contains(text, " 8 bytes") ? "fp64" : contains(text, " 4 bytes") ? "fp32" : "";
      return true;
    }
    if (text.starts_with("Array size")) {
      // "381.5 MB (=0.4 GB)": the first is of 2^20, the second of 1e9 and rounded.
      const auto rest = after(text, contains(text, ":") ? ":" : "=");
      const Fields words(rest ? *rest : std::string_view());
      const auto size = words.size() > 0 ? importing::number(words[0]) : std::nullopt;
      if (size && words.size() > 1) {
        if (words[1].starts_with("MB") || words[1].starts_with("MiB")) bytes_ = *size * 1048576;
        if (words[1].starts_with("KB") || words[1].starts_with("KiB")) bytes_ = *size * 1024;
        if (words[1].starts_with("GB") || words[1].starts_with("GiB")) bytes_ = *size * 1073741824;
        if (words[1].starts_with("(elements)") || words[1].starts_with("elements")) bytes_ = *size * 8;
      }
      return true;
    }
    if (const auto device = after(text, "Using CUDA device ")) return use_device(*device);
    if (const auto device = after(text, "Using HIP device ")) return use_device(*device);
    if (const auto device = after(text, "Using OpenCL device ")) return use_device(*device);
    if (const auto device = after(text, "Using SYCL device ")) return use_device(*device);
    if (text.starts_with("Implementation:")) {
      implementation_ = std::string(*after(text, ":"));
      return true;
    }
    static constexpr std::array<std::string_view, 14> known = {
        "Version:", "Running kernels",   "Running triad",       "Total size",     "Driver:",
        "Memory:",  "Reduction kernel",  "Warning: array size", "Resizing array", "Init:",
        "Read:",    "Number of Threads", "Each kernel will",    "Number of times"};
    const bool ours = !name_.empty() || !rows_.empty();
    return ours && std::any_of(known.begin(), known.end(), [&](std::string_view key) { return text.starts_with(key); });
  }

  bool use_device(std::string_view name) {
    device_ = std::string(name);
    gpu_ = true;
    collected_.device(0, {{"name", name}});
    return true;
  }

  bool validation(std::string_view text) {
    if (contains(text, "Validation failed") || contains(text, "Failed Validation")) {
      if (failed_.empty()) failed_ = std::string(text.substr(0, 160));
      return true;
    }
    if (contains(text, "Solution Validates")) return true;
    return !failed_.empty() && text.starts_with("Sum was ");
  }

  bool header(std::string_view text) {
    if (text.starts_with("function,") || text.starts_with("phase,")) {
      if (complete_) finish();
      csv_text_.assign(text);
      csv_ = cells_of(csv_text_);
      phases_ = text.starts_with("phase,");
      return true;
    }
    if (!text.starts_with("Function")) return false;
    const auto unit = unit_of(text);
    if (!unit) return false;
    if (complete_) finish();
    in_table_ = true;
    unit_ = *unit;
    // STREAM prints "Avg time, Min time, Max time", the others "Min, Max, Average".
    average_first_ = contains(text, "Avg time");
    csv_.clear();
    return true;
  }

  bool take(std::string_view name, double gbps, std::optional<double> average) {
    const std::string key = lower(name);
    const auto kernel =
        std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& one) { return one.name == key; });
    if (kernel == kernels.end()) {
      if (key != "dot" && key != "nstream") return false;
      others_ = true;
      return complete_ = true;
    }
    rows_[kernel->metric] = {gbps, average};
    return complete_ = true;
  }

  bool row(std::string_view text) {
    if (!in_table_) return false;
    const Fields words(text);
    if (words.size() < 2) return false;
    std::string_view name = words[0];
    if (name.ends_with(':')) name.remove_suffix(1);
    const auto rate = importing::number(words[1]);
    if (!rate || *rate <= 0) return false;
    std::optional<double> average;
    const auto at = [&](std::size_t i) { return i < words.size() ? importing::number(words[i]) : std::nullopt; };
    const auto shortest = at(average_first_ ? 3 : 2);
    const auto mean = at(average_first_ ? 2 : 4);
    if (shortest && mean && *mean > 0) average = *rate * unit_ / 1e9 * *shortest / *mean;
    return take(name, *rate * unit_ / 1e9, average);
  }

  bool csv_row(std::string_view text) {
    if (csv_.empty() || !contains(text, ",")) return false;
    const auto cells = cells_of(text);
    if (cells.size() != csv_.size()) return false;
    if (phases_) return true;  // how long the arrays took to be filled and read back
    std::optional<double> rate, shortest, mean, elements, size;
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const auto value = importing::number(cells[i]);
      if (csv_[i].ends_with("bytes_per_sec")) {
        rate = value;
        unit_ = contains(csv_[i], "mibytes") ? 1048576.0 : contains(csv_[i], "gbytes") ? 1e9 : 1e6;
      }
      if (csv_[i] == "min_runtime") shortest = value;
      if (csv_[i] == "avg_runtime") mean = value;
      if (csv_[i] == "n_elements") elements = value;
      if (csv_[i] == "sizeof") size = value;
    }
    if (!rate || *rate <= 0) return false;
    if (size) type_ = *size == 8 ? "fp64" : *size == 4 ? "fp32" : type_;
    if (size && elements) bytes_ = *size * *elements;
    std::optional<double> average;
    if (shortest && mean && *mean > 0) average = *rate * unit_ / 1e9 * *shortest / *mean;
    return take(cells[0], *rate * unit_ / 1e9, average);
  }

  void begin() {
    if (!next_ecc_.empty()) ecc_ = std::exchange(next_ecc_, "");
  }

  json conditions() const {
    json made = {{"method", name_.empty() ? "BabelStream" : name_}, {"statistic", "best"}};
    if (!type_.empty()) made["data_type"] = type_;
    if (bytes_) made["bytes"] = *bytes_;
    if (!ecc_.empty()) made["ecc"] = ecc_;
    if (!implementation_.empty()) made["implementation"] = implementation_;
    return made;
  }

  void finish() {
    if (rows_.empty() && failed_.empty()) return reset();
    begin();
    for (const auto& [metric, row] : rows_) {
      Measurement made = measured(fmt::format("{}/{}{}", metric, lower(name_.empty() ? "BabelStream" : name_),
                                              ecc_.empty() ? "" : "/ecc:" + ecc_),
                                  std::string(metric) + ".gbps", "GB/s", row.gbps, conditions());
      if (row.average_gbps) made.evidence["average_gbps"] = *row.average_gbps;
      if (!failed_.empty()) {
        made.status = Outcome::wrong_result;
        made.reason = failed_;
        made.evidence["untrusted_gbps"] = row.gbps;
      }
      collected_.add(made);
    }
    if (!failed_.empty())
      collected_.add(Finding{
          "import.validation_failed",
          "error",
          fmt::format("The arrays were wrong after the run (\"{}\"): its rates are not to be trusted.", failed_),
          "Run it again with double precision and the default number of passes; if it stays wrong, "
          "memory, driver or compiler is at fault.",
          {}});
    remarks();
    reset();
  }

  void remarks() {
    if (others_) collected_.note("Dot and Nstream have no metric here");
    if (gpu_ && ecc_.empty())
      collected_.note("whether ECC was on is not in the log: on GDDR memory it costs 13 to 18 %");
    if (type_ == "fp32") collected_.note("arrays of single precision; the metrics here are of double");
    if (type_.empty() && !rows_.empty()) collected_.note("the precision is not in the log");
    if (bytes_ && *bytes_ < small_array)
      collected_.note(fmt::format("arrays of {}: a cache may hold them", binary_bytes_text(*bytes_)));
    if (!rows_.empty() && rows_.count("memory.triad") == 0)
      collected_.partial("the table ends before Triad: the log was cut, or other kernels were asked for");
    if (!rows_.empty()) collected_.note("rates are those of the fastest pass, as the tool prints them");
  }

  void reset() {
    rows_.clear();
    failed_.clear();
    ecc_.clear();
    type_.clear();
    name_.clear();
    implementation_.clear();
    bytes_.reset();
    complete_ = in_table_ = others_ = gpu_ = false;
  }

  Collected& collected_;
  std::map<std::string_view, Row> rows_;
  std::string name_, type_, device_, implementation_, ecc_, next_ecc_, failed_;
  std::optional<double> bytes_;
  double unit_ = 1e6;
  std::string csv_text_;
  std::vector<std::string_view> csv_;
  bool phases_ = false, in_table_ = false, average_first_ = false, complete_ = false, others_ = false, gpu_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_babelstream(Collected& collected) { return std::make_unique<BabelStream>(collected); }

}  // namespace claimcheck::importing
