// mamf-finder.py of ml-engineering: the best matrix product over many shapes. It prints mean, median and best of the
// repetitions of a shape; the median is what our metric means, the best of one repetition is not a rate that lasts.
#include <fmt/format.h>

#include <array>
#include <map>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"
#include "harness/result/metrics.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

struct Best {
  std::optional<double> mean, median, max;
  std::string shape;
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> types = {{{"bfloat16", "bf16"},
                                                                                 {"float16", "fp16"},
                                                                                 {"half", "fp16"},
                                                                                 {"float32", "fp32"},
                                                                                 {"float64", "fp64"},
                                                                                 {"double", "fp64"},
                                                                                 {"float8_e4m3", "fp8_e4m3"},
                                                                                 {"float8_e5m2", "fp8_e5m2"},
                                                                                 {"int8", "int8"}}};

// "668.2", "TFLOPS": a number that may have its unit or its kind glued to it, "668.2TFLOPS", "250.4(mean)".
std::optional<double> leading(std::string_view word) {
  const auto found = quantity(word);
  return found ? std::optional(found->value) : std::nullopt;
}

class MamfFinder : public Reader {
 public:
  explicit MamfFinder(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    return heading(text) || outcome(text) || progress(text) || chatter(text);
  }

  void end(bool whole) override {
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    finish();
  }

 private:
  bool heading(std::string_view text) {
    const bool command = contains(text, "mamf-finder");
    if (!command && !text.starts_with("** Dtype:")) {
      if (const auto name = after(text, "name='"); name && contains(text, "DeviceProperties(")) {
        collected_.device(0, {{"name", name->substr(0, name->find('\''))}});
        device_ = true;
        return true;
      }
      return text.starts_with("** ") || text.starts_with("torch=") || text.starts_with("cuda=") ||
             text.starts_with("benchmark version");
    }
    if (any()) finish();
    for (const auto& [name, type] : types)
      if (contains(text, name)) {
        type_ = type;
        break;
      }
    return true;
  }

  bool any() const { return best_.mean || best_.median || best_.max || running_.mean || running_.median; }

  // "mean:   668.2 TFLOPS @ 6144x17920x2816 (MxNxK)"; "The best outcome was 668.2TFLOPS @ 6144x17920x2816 (MxNxK)"
  bool outcome(std::string_view text) {
    if (contains(text, "best outcomes were")) {
      ended_ = true;
      return true;
    }
    if (const auto rest = after(text, "The best outcome was ")) {
      ended_ = true;
      return take(best_.mean, *rest);
    }
    if (!ended_) return false;
    if (text.starts_with("mean:")) return take(best_.mean, trimmed(text.substr(5)));
    if (text.starts_with("median:")) return take(best_.median, trimmed(text.substr(7)));
    if (text.starts_with("max:")) return take(best_.max, trimmed(text.substr(4)));
    return text.starts_with("arithmetic mean:") || text.starts_with("geometric mean:") || text.starts_with("geomean:");
  }

  bool take(std::optional<double>& place, std::string_view text) {
    const Fields words(text);
    if (words.size() == 0) return false;
    const auto value = leading(words[0]);
    if (!value) return false;
    place = value;
    const auto shape = after(text, "@ ");
    if (shape && best_.shape.empty()) best_.shape = std::string(Fields(*shape)[0]);
    if (shape && &place == &best_.median) best_.shape = std::string(Fields(*shape)[0]);
    return true;
  }

  // "1 | 250.4(mean) 251.0(median) 252.2(max) @ 1024x1024x1024 | best: 250.4(mean) 251.0(median) ... TFLOPS"
  bool progress(std::string_view text) {
    const auto best = after(text, "best:");
    if (!best || !contains(text, "TFLOPS")) return false;
    const Fields words(*best);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto value = leading(words[i]);
      if (!value) continue;
      if (contains(words[i], "(mean)")) running_.mean = value;
      if (contains(words[i], "(median)")) running_.median = value;
      if (contains(words[i], "(max)")) running_.max = value;
      if (!contains(words[i], "(") && i == 0) running_.mean = value;
    }
    return true;
  }

  static bool chatter(std::string_view text) {
    return text.starts_with("Warming up the accelerator") || text.starts_with("Legend: TFLOPS") ||
           text.starts_with("Elapsed time") || text.starts_with("across ") || text.starts_with("Across ") ||
           text.starts_with("-----") || contains(text, "accelerator warmup finished");
  }

  void finish() {
    if (!any()) return;
    const bool cut = !best_.mean && !best_.median && !best_.max;
    const Best& best = cut ? running_ : best_;
    const auto value = best.median ? best.median : best.mean;
    const std::string metric = fmt::format("gemm.{}.{}", type_, type_ == "int8" ? "tops" : "tflops");
    if (type_.empty() || find_metric(metric) == nullptr) {
      collected_.note(fmt::format("mamf-finder reached {} TFLOPS, but in which data type is not in the log",
                                  value ? fmt::format("{:.1f}", *value) : "?"));
    } else {
      json conditions = {
          {"method", "mamf-finder"}, {"data_type", type_}, {"statistic", best.median ? "median" : "mean"}};
      if (!best.shape.empty()) conditions["shape"] = best.shape;
      Measurement made = measured("gemm." + type_ + "/mamf-finder", metric, type_ == "int8" ? "TOPS" : "TFLOPS", value,
                                  conditions, "only the best of single repetitions is in the log");
      if (best.max) made.evidence["best_repetition"] = *best.max;
      if (best.mean) made.evidence["mean"] = *best.mean;
      collected_.add(made);
    }
    if (cut) collected_.partial("mamf-finder was stopped before its summary: the best shape so far counts");
    collected_.note(
        "mamf-finder measures one visible device: of boards with several dies (MI250X, K80) that is one die");
    best_ = running_ = {};
    ended_ = false;
  }

  Collected& collected_;
  std::string type_;
  Best best_, running_;
  bool ended_ = false, device_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_mamf_finder(Collected& collected) { return std::make_unique<MamfFinder>(collected); }

}  // namespace claimcheck::importing
