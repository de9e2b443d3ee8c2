// fio as text: its normal output, and what stands around a JSON document, of a client above all. A job's line says rw,
// bs and depth, its block the rates; rates are taken from bytes over time, which have more digits than the printed
// ones. Before fio 3 "KB" meant 1024 bytes, since then units say what they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/import/fields.h"
#include "harness/import/fio_job.h"
#include "harness/import/format.h"

namespace claimcheck::importing {
namespace {

// "9978MiB", "340570KB/s", "10.2GB": in bytes.
std::optional<double> bytes_of(std::string_view word, bool version_2) {
  const auto found = quantity(word);
  if (!found) return std::nullopt;
  std::string_view unit = found->unit;
  if (unit.ends_with("/s")) unit.remove_suffix(2);
  constexpr std::string_view letters = "KMGTP";
  double factor = 1;
  if (!unit.empty() && letters.find(unit.front() == 'k' ? 'K' : unit.front()) != std::string_view::npos) {
    const bool binary = version_2 || unit.find('i') != std::string_view::npos;
    const std::size_t power = letters.find(unit.front() == 'k' ? 'K' : unit.front()) + 1;
    for (std::size_t i = 0; i < power; ++i) factor *= binary ? 1024 : 1000;
  } else if (!unit.empty() && unit != "B") {
    return std::nullopt;
  }
  return found->value * factor;
}

// "85.1k", "1205"
std::optional<double> count_of(std::string_view word) {
  const auto found = quantity(word);
  if (!found) return std::nullopt;
  if (found->unit.empty()) return found->value;
  if (found->unit == "k" || found->unit == "K") return found->value * 1e3;
  return found->unit == "M" || found->unit == "m" ? std::optional(found->value * 1e6) : std::nullopt;
}

// The word behind `name`, up to a comma or blank.
std::optional<std::string_view> value_of(std::string_view text, std::string_view name) {
  auto rest = after(text, name);
  if (!rest) return std::nullopt;
  return rest->substr(0, rest->find_first_of(", )"));
}

constexpr std::size_t most_jobs = 10'000;  // different ones

class FioText : public Reader {
 public:
  explicit FioText(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    return client(text) || plan(text) || command(text) || job(text) || rates(text) || latency(text) || error(text) ||
           around(text);
  }

  void end(bool whole) override {
    finish();
    for (const auto& [key, job] : jobs_) report_fio_job(collected_, job, file_);
    if (hosts_ > 0) collected_.note(fmt::format("fio ran as client of {} host{}", hosts_, hosts_ == 1 ? "" : "s"));
    if (planned_ && !reported_)
      collected_.partial("fio started and printed no result: stopped, hung, or the log was cut");
    if (reported_ && !summed_up_) collected_.partial("fio's output ends before its summary (Run status)");
    if (!whole && (planned_ || reported_)) collected_.partial("the last line has no end: the file may be cut short");
  }

 private:
  bool client(std::string_view text) {
    if (contains(text, "hostname=") && contains(text, "fio=fio-")) {
      ++hosts_;
      std::string_view version = Fields(*after(text, "fio=fio-"))[0];
      if (version.ends_with(',')) version.remove_suffix(1);
      set_version(version);
      return true;
    }
    const std::size_t close = text.find('>');
    return text.starts_with('<') && close != std::string_view::npos && close > 1 && hosts_ > 0;
  }

  void set_version(std::string_view version) {
    collected_.system("/software/fio", std::string(version));
    version_2_ = version.starts_with("2") || version.starts_with("1");
  }

  // "seqread: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, (W) ..., ioengine=libaio, iodepth=32"
  bool plan(std::string_view text) {
    const std::size_t group = text.find(": (g=");
    const auto rw = value_of(text, "rw=");
    if (group == std::string_view::npos || !rw) return false;
    FioJob job;
    job.name = std::string(text.substr(0, group));
    job.rw = std::string(*rw);
    if (const auto blocks = after(text, "bs=")) {
      std::string_view bs = *blocks;
      if (bs.starts_with("(R) ")) bs.remove_prefix(4);
      bs = bs.substr(0, bs.find_first_of("-/, "));
      job.bs = std::string(bs);
    }
    if (const auto depth = value_of(text, "iodepth=")) job.depth = number(*depth);
    if (plans_.size() < most_jobs) plans_[job.name] = job;
    planned_ = true;
    return true;
  }

  // A shell's prompt and the command: only it says direct.
  bool command(std::string_view text) {
    const bool typed = contains(text, "fio ") && contains(text, "--") && !contains(text, "(g=");
    if (!typed) return false;
    if (const auto direct = value_of(text, "direct=")) direct_ = *direct == "1";
    if (const auto file = value_of(text, "filename=")) file_ = std::string(*file);
    return true;
  }

  // "seqread: (groupid=0, jobs=4): err= 0: pid=2441: Tue Dec  1 10:00:00 2026"
  bool job(std::string_view text) {
    const std::size_t group = text.find(": (groupid=");
    if (group == std::string_view::npos) return false;
    finish();
    const std::string name(text.substr(0, group));
    const auto plan = plans_.find(name);
    job_ = plan == plans_.end() ? FioJob{} : plan->second;
    job_->name = name;
    job_->entries = 1;
    group_ = std::string(value_of(text, "groupid=").value_or(""));
    job_->direct = direct_;
    if (const auto jobs = value_of(text, "jobs=")) job_->jobs = number(*jobs);
    if (const auto failed = after(text, "err="))
      job_->error = number(Fields(*failed)[0].substr(0, Fields(*failed)[0].find(':'))).value_or(0);
    reported_ = true;
    return true;
  }

  // "read: IOPS=85.1k, BW=333MiB/s (349MB/s)(9978MiB/30002msec)", before 3 "read : io=9978.3MB, bw=340570KB/s,
  // iops=85138, runt= 30002msec"
  bool rates(std::string_view text) {
    if (!job_) return false;
    for (const char* side : {"read", "write"}) {
      const auto rest = after(text, ":");
      if (!text.starts_with(side) || !rest || trimmed(text.substr(0, text.find(':'))) != side) continue;
      side_ = side;
      FioDirection& sum = job_->directions[side_];
      for (const char* name : {"IOPS=", "iops="})
        if (const auto value = value_of(text, name)) sum.iops = count_of(*value).value_or(0);
      for (const char* name : {"BW=", "bw="})
        if (const auto value = value_of(text, name)) sum.bytes_per_second = bytes_of(*value, version_2_).value_or(0);
      if (const auto exact = over_time(text)) sum.bytes_per_second = *exact;
      sum.complete_latency = false;
      sum.operations = sum.iops;  // what means of several jobs are weighted with
      return true;
    }
    return false;
  }

  std::optional<double> over_time(std::string_view text) const {
    std::optional<double> bytes, milliseconds;
    if (const std::size_t bracket = text.rfind('('); bracket != std::string_view::npos && contains(text, "msec)")) {
      const std::string_view inside = text.substr(bracket + 1);
      const std::size_t slash = inside.find('/');
      if (slash == std::string_view::npos) return std::nullopt;
      bytes = bytes_of(inside.substr(0, slash), version_2_);
      milliseconds = number(inside.substr(slash + 1, inside.find("msec") - slash - 1));
    } else if (const auto io = value_of(text, "io=")) {
      bytes = bytes_of(*io, version_2_);
      if (const auto run = after(text, "runt="))
        milliseconds = number(Fields(*run)[0].substr(0, Fields(*run)[0].find("msec")));
    }
    if (!bytes || !milliseconds || !(*milliseconds > 0)) return std::nullopt;
    return *bytes / *milliseconds * 1e3;
  }

  // "lat (usec): min=280, max=10177, avg=1446.56, stdev=300.72", and the percentiles of clat
  bool latency(std::string_view text) {
    if (!job_ || side_.empty()) return false;
    FioDirection& sum = job_->directions[side_];
    const auto unit = unit_us(text);
    if (text.starts_with("lat (") && contains(text, "avg=") && unit) {
      if (const auto mean = after(text, "avg=")) {
        const auto value = number(Fields(*mean)[0].substr(0, Fields(*mean)[0].find(',')));
        if (value) sum.latency_sum = *value * *unit * sum.operations;
        sum.complete_latency = value.has_value();
      }
      return true;
    }
    if (contains(text, "lat percentiles (")) return (percentile_us_ = unit.value_or(0)), true;
    if (text.starts_with('|') && contains(text, "th=[")) return percentiles(text, sum);
    return (text.starts_with("slat (") || text.starts_with("clat (") || text.starts_with("bw (") ||
            text.starts_with("iops ")) &&
           contains(text, "min=");
  }

  static std::optional<double> unit_us(std::string_view text) {
    for (const auto& [name, factor] : std::array<std::pair<std::string_view, double>, 4>{
             {{"(nsec)", 1e-3}, {"(usec)", 1}, {"(msec)", 1e3}, {"(sec)", 1e6}}})
      if (contains(text, name)) return factor;
    return std::nullopt;
  }

  // "|  1.00th=[  873],  5.00th=[ 1037],"
  bool percentiles(std::string_view text, FioDirection& sum) const {
    while (const auto rest = after(text, "th=[")) {
      const std::string_view before = text.substr(0, text.find("th=["));
      const auto percent = number(trimmed(before.substr(before.find_last_of("|, ") + 1)));
      const auto value = number(trimmed(rest->substr(0, rest->find(']'))));
      if (percent && value && percentile_us_ > 0)
        sum.percentiles_us[fmt::format("p{:g}", *percent)] = *value * percentile_us_;
      text = *rest;
    }
    return true;
  }

  bool error(std::string_view text) {
    if (!contains(text, "error=") || !text.starts_with("fio:")) return false;
    collected_.add(Finding{"import.fio_error",
                           "error",
                           fmt::format("fio failed: \"{}\".", text.substr(0, 200)),
                           "Look at the file, its directory and its free space.",
                           {}});
    return true;
  }

  // Everything else that fio prints, once it is known to be its output.
  bool around(std::string_view text) {
    if (text.starts_with("Run status group")) {
      finish();
      return summed_up_ = true;
    }
    if (text.starts_with("fio-") && text.find(' ') == std::string_view::npos) {
      set_version(text.substr(4));
      return true;
    }
    if (text.starts_with("Jobs: ") || text.starts_with("Disk stats (read/write)")) return true;
    if (text.starts_with("Starting ") && (contains(text, "process") || contains(text, "thread"))) return true;
    if (!planned_ && !reported_) return false;
    constexpr std::array<std::string_view, 15> known = {"lat (",   "cpu ",     "IO depths", "submit ", "complete ",
                                                        "issued ", "latency ", "READ: ",    "WRITE: ", "READ:",
                                                        "WRITE:",  "...",      "slat ",     "bw=",     "errors"};
    for (const std::string_view begin : known)
      if (text.starts_with(begin)) return true;
    return summed_up_ && contains(text, ": ios=");
  }

  // Jobs of one name and group run at the same time: rates add up, percentiles do not.
  void finish() {
    if (job_ && jobs_.size() >= most_jobs) {
      collected_.partial(fmt::format("more than {} jobs of fio: the rest is left out", most_jobs));
    } else if (job_) {
      const auto [known, is_new] = jobs_.try_emplace(group_ + '\n' + job_->name, *job_);
      FioJob& all = known->second;
      if (!is_new) {
        ++all.entries;
        all.error = std::max(all.error, job_->error);
        for (const auto& [side, one] : job_->directions) {
          FioDirection& sum = all.directions[side];
          sum.bytes_per_second += one.bytes_per_second;
          sum.iops += one.iops;
          sum.operations += one.operations;
          sum.latency_sum += one.latency_sum;
          sum.complete_latency = sum.complete_latency && one.complete_latency;
          sum.percentiles_us.clear();
        }
      }
    }
    job_.reset();
    side_.clear();
    percentile_us_ = 0;
  }

  Collected& collected_;
  std::map<std::string, FioJob> plans_;
  std::optional<FioJob> job_;
  std::map<std::string, FioJob> jobs_;  // by group and name
  std::string side_, file_, group_;
  std::optional<bool> direct_;
  double percentile_us_ = 0;
  int hosts_ = 0;
  bool version_2_ = false, planned_ = false, reported_ = false, summed_up_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_fio(Collected& collected) { return std::make_unique<FioText>(collected); }

}  // namespace claimcheck::importing
