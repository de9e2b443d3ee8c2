// gpu-burn: matrix products on all GPUs for a time, compared with one another. "OK" of its summary means only that no
// difference was seen: where nothing was computed there is none either, so progress is the evidence.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/import/cuda_errors.h"
#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/gpu_burn_progress.h"
#include "harness/import/measured.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr double short_seconds = 60;  // a GPU takes minutes to reach its final temperature

class GpuBurn : public Reader {
 public:
  explicit GpuBurn(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    if (read_burn_progress(text, progress_)) {
      started_ = true;
      return true;
    }
    return heading(text) || gpu(text) || failure(text) || ending(text);
  }

  void end(bool whole) override {
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    if (started_) report();
  }

 private:
  bool heading(std::string_view text) {
    bool known = contains(text, "Using compare file") || contains(text, "Run length not specified");
    if (const auto rest = after(text, "Burning for ")) {
      const Fields words(*rest);
      seconds_ = words.size() > 0 ? importing::number(words[0]) : std::nullopt;
      known = true;
    }
    if (contains(text, "using DOUBLES")) doubles_ = true;
    if (contains(text, "using FLOATS")) floats_ = true;
    if (contains(text, "using Tensor Cores")) tensor_ = true;
    if (const auto rest = after(text, "Results are ")) {
      const Fields words(*rest);
      result_bytes_ = words.size() > 0 ? importing::number(words[0]) : std::nullopt;
      known = true;
    }
    known = known || contains(text, "Initialized device ");
    // A shell's prompt and the command: "-d" asks for doubles, "-tc" for tensor cores.
    if (contains(text, "gpu_burn") && !contains(text, "gpu_burn-drv")) {
      const Fields words(text);
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "-d") doubles_ = true;
        if (words[i] == "-tc") tensor_ = true;
      }
      known = true;
    }
    started_ = started_ || known;
    return known;
  }

  // "GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)" at the beginning, "GPU 0: OK" or "GPU 0: FAULTY" in the summary
  bool gpu(std::string_view text) {
    if (!text.starts_with("GPU ")) return false;
    const std::size_t colon = text.find(": ");
    if (colon == std::string_view::npos) return false;
    const auto index = importing::number(text.substr(4, colon - 4));
    if (!index || *index < 0 || *index > 4095) return false;
    const int number = static_cast<int>(*index);
    std::string_view name = trimmed(text.substr(colon + 2));
    if (name == "OK" || name == "FAULTY") {
      started_ = true;
      verdicts_[number] = name == "OK";
      return true;
    }
    name = trimmed(name.substr(0, name.find(" (UUID")));
    if (name.ends_with("...")) name = trimmed(name.substr(0, name.size() - 3));
    names_[number] = std::string(name);
    collected_.device(number, {{"name", name}});
    return started_;  // nvidia-smi -L says the same, and then it is no sign of gpu-burn
  }

  bool failure(std::string_view text) {
    if (contains(text, "terminate called after") || contains(text, "Couldn't init a GPU test")) failed_ = true;
    const bool error = contains(text, "gpu_burn-drv.cpp") || contains(text, "Error in ") || contains(text, "what():") ||
                       contains(text, "Couldn't init a GPU test");
    if (error) {
      failed_ = started_ = true;
      const std::size_t where = text.find("Error (");
      const std::size_t colon = where == std::string_view::npos ? where : text.find("): ", where);
      const std::string_view what = colon == std::string_view::npos ? text : text.substr(colon + 3);
      Finding finding = cuda_error_finding(what);
      // Other processes stumble over the first one's error: the first is the cause.
      if (errors_.empty()) first_error_ = std::string(what);
      if (!errors_.empty() && errors_.count(finding.id) == 0) {
        finding.severity = "warning";
        finding.text += " Other processes of the same run failed before it, so that it may only follow from theirs.";
      }
      if (errors_.insert(finding.id).second) collected_.add(finding);
      return true;
    }
    if (contains(text, "No clients are alive")) {
      aborted_ = started_ = true;
      return true;
    }
    return contains(text, "terminate called after") || (failed_ && text == "...");
  }

  bool ending(std::string_view text) {
    if (contains(text, "Tested ") && contains(text, " GPUs:")) return summary_ = true;
    return text.starts_with("Summary at:") || contains(text, "Killing processes") ||
           text.starts_with("Freed memory for dev") || text == "Uninitted cublas" || text == "done" ||
           (started_ && text == "...");
  }

  // Empty when the log does not say what was multiplied.
  std::string kind() const {
    if (doubles_) return "fp64";
    if (tensor_) return "tf32";
    return floats_ ? "fp32" : "";
  }

  std::string gpu_list(const std::vector<std::size_t>& indices) const {
    return fmt::format("GPU {}", fmt::join(indices, ", "));
  }

  void report() {
    if (progress_.snapshots == 0) return report_nothing();
    std::vector<std::size_t> died, wrong, silent;
    for (std::size_t i = 0; i < progress_.gpus.size(); ++i) {
      const BurnGpu& gpu = progress_.gpus[i];
      const auto verdict = verdicts_.find(static_cast<int>(i));
      if (gpu.died)
        died.push_back(i);
      else if (gpu.errors > 0 || (verdict != verdicts_.end() && !verdict->second))
        wrong.push_back(i);
      else if (!gpu.gflops)
        silent.push_back(i);
    }
    report_gpus(died, wrong, silent);
    report_rate(died, wrong, silent);
    report_run();
  }

  void report_nothing() {
    const std::string reason = failed_ ? "gpu-burn ended with an error: " + first_error_
                                       : "gpu-burn printed no progress: nothing was computed";
    if (!kind().empty())
      collected_.add(measured("gemm." + kind() + "/gpu-burn", "gemm." + kind() + ".tflops", "TFLOPS", std::nullopt,
                              conditions(), reason));
    if (!failed_)
      collected_.add(Finding{
          "import.no_progress",
          "error",
          verdicts_.empty()
              ? "gpu-burn printed no line of progress: nothing was measured."
              : "gpu-burn says OK, but printed no line of progress: nothing was computed, so nothing was tested.",
          "Run it again for several minutes; progress must show a rate for each GPU.",
          {}});
    if (!summary_) collected_.partial("gpu-burn has no summary: it hung, was stopped, or the log was cut");
  }

  void report_gpus(const std::vector<std::size_t>& died, const std::vector<std::size_t>& wrong,
                   const std::vector<std::size_t>& silent) {
    if (!died.empty())
      collected_.add(Finding{
          "import.gpu_burn_died",
          "error",
          fmt::format("The processes on {} of {} GPUs died ({}); what stands beside them is no measurement{}.",
                      died.size(), progress_.gpus.size(), gpu_list(died), aborted_ ? ", and gpu-burn gave up" : ""),
          "Look into dmesg for Xid and for the OOM killer; then run it on one GPU alone.",
          {}});
    if (!wrong.empty())
      collected_.add(Finding{"import.gpu_burn_faulty",
                             "error",
                             fmt::format("{} computed wrong results under load.", gpu_list(wrong)),
                             "Run it on that GPU alone; if it is wrong again, return the machine.",
                             {}});
    if (!silent.empty() && summary_)
      collected_.add(Finding{"import.no_progress",
                             "error",
                             fmt::format("{} never reported a rate, whatever the summary says.", gpu_list(silent)),
                             "Run it longer; a GPU that computes nothing is not tested.",
                             {}});
    for (std::size_t i = 0; i < progress_.gpus.size(); ++i) {
      const BurnGpu& gpu = progress_.gpus[i];
      if (!gpu.gflops || *gpu.gflops >= 0.9 * gpu.most_gflops) continue;
      collected_.add(Finding{"import.slowing",
                             "warning",
                             fmt::format("GPU {} ended at {:.1f} TFLOPS after {:.1f} TFLOPS earlier in the run.", i,
                                         *gpu.gflops / 1e3, gpu.most_gflops / 1e3),
                             "Look at clocks, power and temperature under load: nvidia-smi -q -d PERFORMANCE,CLOCK.",
                             {}});
    }
  }

  json conditions() const {
    json made = {{"method", "gpu-burn"}, {"statistic", "last report"}};
    if (!kind().empty()) made["data_type"] = kind();
    if (result_bytes_ && *result_bytes_ > 0 && !kind().empty())
      made["n"] = std::round(std::sqrt(*result_bytes_ / (doubles_ ? 8 : 4)));
    if (seconds_) made["seconds"] = *seconds_;
    if (!progress_.gpus.empty()) made["devices_at_once"] = progress_.gpus.size();
    return made;
  }

  void report_rate(const std::vector<std::size_t>& died, const std::vector<std::size_t>& wrong,
                   const std::vector<std::size_t>& silent) {
    std::optional<double> slowest;
    std::vector<DeviceValue> devices;
    for (std::size_t i = 0; i < progress_.gpus.size(); ++i) {
      const auto& rate = progress_.gpus[i].gflops;
      const auto name = names_.find(static_cast<int>(i));
      DeviceValue device{static_cast<int>(i), name == names_.end() ? "" : name->second, std::nullopt};
      if (rate) device.value = *rate / 1e3;
      if (device.value && (!slowest || *device.value < *slowest)) slowest = device.value;
      devices.push_back(device);
    }
    if (kind().empty()) {
      collected_.note(
          fmt::format("{}gpu-burn does not say here whether it computed in single or double precision: no "
                      "metric can take its rates",
                      slowest ? fmt::format("slowest GPU {:.1f} TFLOPS, but ", *slowest) : ""));
      return;
    }
    Measurement made = measured("gemm." + kind() + "/gpu-burn", "gemm." + kind() + ".tflops", "TFLOPS", slowest,
                                conditions(), "no GPU reported a rate");
    made.devices = std::move(devices);
    if (!died.empty()) {
      made.status = Outcome::crashed;
      made.reason = fmt::format("the processes on {} died", gpu_list(died));
    } else if (!wrong.empty()) {
      made.status = Outcome::wrong_result;
      made.reason = gpu_list(wrong) + " computed wrong results";
    } else if (!silent.empty() && summary_) {
      made.status = Outcome::failed;
      made.reason = gpu_list(silent) + " never reported a rate";
    }
    if (made.status != Outcome::ok) made.value.reset();
    collected_.add(made);
  }

  void report_run() {
    if (kind() == "tf32")
      collected_.note("single precision on tensor cores: tf32 from A100 on, fp16 products on V100 and T4");
    if (kind() == "fp64" && tensor_) collected_.note("double precision on tensor cores: compare with their fp64 peak");
    if (kind() == "fp32") collected_.note("single precision without tensor cores: compare with the fp32 peak");
    if (!seconds_)
      collected_.note("how long gpu-burn ran is not in the log: nothing can be said about throttling");
    else if (*seconds_ < short_seconds)
      collected_.note(fmt::format("{:.0f} seconds are too short to say anything about throttling", *seconds_));
    if (!summary_ && !aborted_)
      collected_.partial(
          fmt::format("gpu-burn ends at {:.1f} % without its summary: stopped, or the log was cut", progress_.percent));
  }

  Collected& collected_;
  BurnProgress progress_;
  std::map<int, std::string> names_;
  std::map<int, bool> verdicts_;
  std::set<std::string> errors_;
  std::string first_error_;
  std::optional<double> seconds_, result_bytes_;
  bool started_ = false, floats_ = false, doubles_ = false, tensor_ = false;
  bool failed_ = false, aborted_ = false, summary_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_gpu_burn(Collected& collected) { return std::make_unique<GpuBurn>(collected); }

}  // namespace claimcheck::importing
