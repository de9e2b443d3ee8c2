// nvbandwidth 0.2 to 0.8: its text, and its JSON (-j), before which an error may have put lines of text.
#include <fmt/format.h>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/nvbandwidth_test.h"
#include "harness/judge/machine.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

// ---- text

class NvbandwidthText : public Reader {
 public:
  explicit NvbandwidthText(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = line.text;
    return heading(text) || test_line(text, line.number) || error(text);
  }

  void end(bool whole) override {
    if (running_ && !test_.mismatch && test_.failure.empty() && test_.cells.empty())
      collected_.partial(
          fmt::format("the output ends within {}: the tool was stopped, hung, or the log was cut", test_.name));
    finish();
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    if (nameless_ > 0)
      collected_.note(fmt::format("{} test{} that {} not apply {} waived; the output does not name {}", nameless_,
                                  nameless_ == 1 ? "" : "s", nameless_ == 1 ? "does" : "do",
                                  nameless_ == 1 ? "was" : "were", nameless_ == 1 ? "it" : "them"));
    nvbandwidth_versions(collected_, runtime_, driver_);
  }

 private:
  bool heading(std::string_view text) {
    if (const auto version = after(text, "nvbandwidth Version: ")) {
      collected_.system("/software/nvbandwidth", std::string(*version));
      return true;
    }
    if (text.starts_with("CUDA Runtime Version: ")) return keep(runtime_, *after(text, ": "));
    if (text.starts_with("CUDA Driver Version: ")) return keep(driver_, *after(text, ": "));
    if (text.starts_with("Driver Version: ")) {
      collected_.system("/nvidia_driver", std::string(*after(text, ": ")));
      return true;
    }
    if (text.starts_with("Device ") && nvbandwidth_device(collected_, text.substr(7))) {
      ++devices_;
      return true;
    }
    return text.starts_with("Built from Git version:") || text.starts_with("NOTE: This tool reports") ||
           text.starts_with("Additional system-specific tuning") || contains(text, "nvbandwidth -");
  }

  static bool keep(std::optional<double>& value, std::string_view text) {
    value = number(text);
    return true;
  }

  bool test_line(std::string_view text, std::size_t number) {
    if (text.starts_with("Running ") && text.ends_with('.')) {
      finish();
      running_ = true;
      test_.name = std::string(text.substr(8, text.size() - 9));
      test_.line = number;
      return true;
    }
    if (text.starts_with("Waived:") || text.starts_with("Waiving ")) {
      const std::string_view name = trimmed(text.substr(text.find(text[6] == ':' ? ':' : ' ') + 1));
      finish();
      // Without a name it says only that something did not apply; the next line's name is not its.
      if (!name.empty()) {
        test_.name = std::string(name.ends_with('.') ? name.substr(0, name.size() - 1) : name);
        test_.waived = true;
        running_ = true;
        finish();
      } else {
        ++nameless_;
      }
      return true;
    }
    if (text.starts_with("SUM ")) {
      const Fields fields(text);
      if (fields.size() == 3 && fields[1] == test_.name) test_.sum = importing::number(fields[2]);
      finish();
      return true;
    }
    if (text.starts_with("NOTE: You have chosen a buffer size")) {
      collected_.note(std::string(text));
      return true;
    }
    if (!running_) return false;
    if (contains(text, "bandwidth (GB/s)") || contains(text, "latency (ns)") || contains(text, "memory latency")) {
      test_.description = std::string(text);
      // "Read1", "Read2" and "Total" follow one another: the last one stands.
      test_.cells.clear();
      in_matrix_ = true;
      width_ = 0;
      return true;
    }
    return in_matrix_ && matrix_row(text);
  }

  // The first line numbers the columns, the others begin with their own number.
  bool matrix_row(std::string_view text) {
    const Fields fields(text);
    if (fields.size() == 0 || !importing::number(fields[0])) return false;
    if (width_ == 0) {
      width_ = fields.size();
      return true;
    }
    if (fields.size() < 2) return false;
    std::vector<std::optional<double>> row;
    for (std::size_t i = 1; i < fields.size(); ++i) row.push_back(importing::number(fields[i]));
    if (test_.cells.size() < 1024) test_.cells.push_back(std::move(row));
    return true;
  }

  bool error(std::string_view text) {
    const bool pattern = contains(text, "Invalid value when checking the pattern") || contains(text, "h_errorFlag");
    if (pattern || contains(text, "CUDA_ERROR_") || contains(text, "ASSERT in expression")) {
      nvbandwidth_error(collected_, text);
      if (running_ && pattern) test_.mismatch = true;
      if (running_ && !pattern && !test_.mismatch) test_.failure = std::string(text.substr(0, 200));
      return true;
    }
    return contains(text, "Current offset : ") || contains(text, "Aborted (core dumped)");
  }

  void finish() {
    if (running_) report_nvbandwidth(collected_, test_, devices_ > 0 ? std::optional(devices_) : std::nullopt);
    test_ = {};
    running_ = false;
    in_matrix_ = false;
  }

  Collected& collected_;
  NvbandwidthTest test_;
  bool running_ = false;
  bool in_matrix_ = false;
  std::size_t width_ = 0;
  std::size_t devices_ = 0;
  std::size_t nameless_ = 0;
  std::optional<double> runtime_, driver_;
};

// ---- JSON

std::optional<double> cell_of(const json& cell) {
  if (cell.is_number()) return cell.get<double>();
  return cell.is_string() ? number(cell.get<std::string>()) : std::nullopt;
}

NvbandwidthTest test_of(const json& value) {
  NvbandwidthTest test;
  test.name = text_at(value, "name");
  test.description = text_at(value, "bandwidth_description");
  const std::string status = text_at(value, "status");
  test.waived = status == "Waived";
  if (status == "Error" || status == "Failed") test.failure = "nvbandwidth says " + status;
  if (const auto sum = value.find("sum"); sum != value.end()) test.sum = cell_of(*sum);
  const auto matrix = value.find("bandwidth_matrix");
  if (matrix == value.end() || !matrix->is_array()) return test;
  for (const json& row : *matrix) {
    if (!row.is_array()) continue;
    std::vector<std::optional<double>> cells;
    for (const json& cell : row) cells.push_back(cell_of(cell));
    test.cells.push_back(std::move(cells));
  }
  return test;
}

bool nvbandwidth_json(Collected& collected, const json& document) {
  const auto found = document.is_object() ? document.find("nvbandwidth") : document.end();
  if (found == document.end() || !found->is_object()) return false;
  const json& all = *found;
  if (all.contains("version") && all["version"].is_string()) collected.system("/software/nvbandwidth", all["version"]);
  if (all.contains("Driver Version") && all["Driver Version"].is_string())
    collected.system("/nvidia_driver", all["Driver Version"]);
  std::optional<std::size_t> devices;
  if (const auto list = all.find("GPU Device list"); list != all.end() && list->is_array()) {
    devices = list->size();
    for (const json& device : *list)
      if (device.is_string()) nvbandwidth_device(collected, device.get<std::string>());
  }
  const std::vector<json> tests = objects_at(all, "testcases");
  for (const json& test : tests) report_nvbandwidth(collected, test_of(test), devices);
  if (const auto warning = all.find("warning"); warning != all.end() && warning->is_string()) {
    collected.note(warning->get<std::string>());
    collected.add(Finding{"import.small_buffer",
                          "info",
                          "nvbandwidth copied less than it does by default: rates may be underestimated.",
                          "Run it with its own buffer size where the memory allows.",
                          {}});
  }
  if (const auto error = all.find("error"); error != all.end() && error->is_string()) {
    nvbandwidth_error(collected, error->get<std::string>());
    collected.partial(tests.empty() ? "nvbandwidth ended with an error and measured nothing"
                                    : "nvbandwidth ended with an error: tests after it are missing");
  }
  return true;
}

}  // namespace

std::unique_ptr<Reader> open_nvbandwidth(Collected& collected) { return std::make_unique<NvbandwidthText>(collected); }
bool document_nvbandwidth(Collected& collected, const json& value) { return nvbandwidth_json(collected, value); }

}  // namespace claimcheck::importing
