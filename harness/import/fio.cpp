// fio with --output-format=json, alone or as client of several servers. A job is known by rw and bs, never by its name;
// bw_bytes is bytes a second, where bw is KiB a second; times are in ns from fio 3 on and in us before.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"
#include "harness/report/quantity.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr double large_block = 65536;
constexpr double small_block = 4096;

struct Direction {
  double bytes_per_second = 0;
  double iops = 0;
  double operations = 0;
  double latency_sum = 0;  // of microseconds times operations
  bool complete_latency = true;
  std::map<std::string, double> percentiles_us;  // of one job only
};

struct Job {
  std::string name, rw, bs, host;
  std::optional<bool> direct;
  std::optional<double> depth, jobs;
  double entries = 0;
  double error = 0;
  std::map<std::string, Direction> directions;  // read, write
};

std::string option(const json& entry, const json& global, std::initializer_list<const char*> names) {
  const auto local = entry.find("job options");
  for (const json* options : {local == entry.end() ? nullptr : &*local, &global})
    if (options != nullptr && options->is_object())
      for (const char* name : names)
        if (const auto found = options->find(name); found != options->end())
          return found->is_string() ? found->get<std::string>() : found->dump();
  return "";
}

// Of lat, else of clat with slat: what fio itself adds up.
std::optional<double> latency_us(const json& side, double nanoseconds_from_3,
                                 std::map<std::string, double>& percentiles) {
  std::optional<double> mean;
  for (const auto& [key, factor] : std::array<std::pair<const char*, double>, 4>{
           {{"lat_ns", 1e-3}, {"lat", nanoseconds_from_3}, {"clat_ns", 1e-3}, {"clat", nanoseconds_from_3}}}) {
    const auto found = side.find(key);
    if (found == side.end() || !found->is_object()) continue;
    const auto value = number_of(*found, "mean");
    const bool completion = key[0] == 'c';
    if (!mean && value && *value > 0 && !completion) mean = *value * factor;
    const auto list = found->find("percentile");
    if (list == found->end() || !list->is_object() || !percentiles.empty()) continue;
    for (const auto& [percent, one] : list->items())
      if (const auto key_value = number(percent); key_value && one.is_number())
        percentiles[fmt::format("p{:g}", *key_value)] = one.get<double>() * factor;
  }
  return mean;
}

void add_side(Job& job, const std::string& name, const json& side, bool version_2) {
  const double operations = number_of(side, "total_ios").value_or(0);
  const double iops = number_of(side, "iops").value_or(0);
  auto rate = number_of(side, "bw_bytes");
  // Before bw_bytes there was bw alone, in KiB a second.
  if (!rate)
    if (const auto kibibytes = number_of(side, "bw")) rate = *kibibytes * 1024;
  if (iops <= 0 && operations <= 0) return;
  Direction& sum = job.directions[name];
  sum.bytes_per_second += rate.value_or(0);
  sum.iops += iops;
  const double weight = operations > 0 ? operations : iops;
  sum.operations += weight;
  std::map<std::string, double> percentiles;
  const auto latency = latency_us(side, version_2 ? 1.0 : 1e-3, percentiles);
  if (latency)
    sum.latency_sum += *latency * weight;
  else
    sum.complete_latency = false;
  if (job.entries == 1)
    sum.percentiles_us = std::move(percentiles);
  else
    sum.percentiles_us.clear();  // percentiles of several jobs do not add up
}

class FioDocument {
 public:
  FioDocument(Collected& collected, const json& document) : collected_(collected), document_(document) {}

  bool read() {
    const bool client = document_.contains("client_stats");
    const auto list = document_.find(client ? "client_stats" : "jobs");
    if (!document_.contains("fio version") || list == document_.end() || !list->is_array()) return false;
    const std::string version = text_of(document_, "fio version");
    collected_.system("/software/fio", version.substr(version.starts_with("fio-") ? 4 : 0));
    version_2_ = version.starts_with("fio-2") || version.starts_with("fio-1");
    global_ = document_.value("global options", json::object());
    const bool summed = client && std::any_of(list->begin(), list->end(), is_sum);
    std::size_t hosts = 0;
    for (const json& entry : *list) {
      if (!entry.is_object()) continue;
      const bool sum = is_sum(entry);
      if (client && !sum) ++hosts;
      remember_options(entry);
      if (!summed || sum) add(entry, client);
    }
    if (summed)
      collected_.note(
          fmt::format("\"All clients\" holds the sum of {} jobs of several hosts: those are not added again", hosts));
    for (auto& [key, job] : jobs_) report(job);
    if (jobs_.empty()) collected_.partial("fio's document has no job");
    return true;
  }

 private:
  static bool is_sum(const json& entry) { return text_of(entry, "jobname") == "All clients"; }

  // The sum has none of its own: those of the jobs it sums up, where all agree.
  void remember_options(const json& entry) {
    for (const auto& [place, value] : {std::pair{&common_rw_, option(entry, global_, {"rw", "readwrite"})},
                                       std::pair{&common_bs_, option(entry, global_, {"bs", "blocksize"})},
                                       std::pair{&common_direct_, option(entry, global_, {"direct"})}})
      if (!value.empty()) *place = place->empty() || *place == value ? value : "?";
  }

  void add(const json& entry, bool client) {
    const bool sum = is_sum(entry);
    const std::string name = text_of(entry, "jobname");
    const std::string host = client && !sum ? text_of(entry, "hostname") : "";
    const std::string group = entry.contains("groupid") ? entry["groupid"].dump() : "";
    Job& job = jobs_[fmt::format("{}\n{}\n{}", group, name, host)];
    ++job.entries;
    job.name = name;
    job.host = host;
    job.rw = option(entry, global_, {"rw", "readwrite"});
    job.bs = option(entry, global_, {"bs", "blocksize"});
    std::string direct = option(entry, global_, {"direct"});
    if (sum) {
      if (job.rw.empty()) job.rw = common_rw_;
      if (job.bs.empty()) job.bs = common_bs_;
      if (direct.empty()) direct = common_direct_;
    }
    job.rw = job.rw.substr(0, job.rw.find(':'));
    const bool options_known = entry.contains("job options") || !global_.empty() || !direct.empty();
    if (!direct.empty() && direct != "?")
      job.direct = direct == "1";
    else if (options_known && direct.empty())
      job.direct = option(entry, global_, {"buffered"}) == "0";
    job.depth = number(option(entry, global_, {"iodepth"}));
    job.jobs = number(option(entry, global_, {"numjobs"}));
    job.error = std::max(job.error, number_of(entry, "error").value_or(0));
    for (const char* side : {"read", "write"})
      if (const auto found = entry.find(side); found != entry.end() && found->is_object())
        add_side(job, side, *found, version_2_);
  }

  json conditions(const Job& job, double block) const {
    json made = {{"method", "fio"}, {"rw", job.rw}, {"block_bytes", block}, {"statistic", "mean"}};
    if (job.direct) made["direct"] = *job.direct;
    if (job.depth) made["queue_depth"] = *job.depth;
    if (job.jobs) made["jobs"] = *job.jobs;
    if (!job.host.empty()) made["host"] = job.host;
    if (job.directions.size() > 1) made["mixed"] = true;
    if (const std::string file = option(json::object(), global_, {"filename"}); !file.empty()) made["file"] = file;
    return made;
  }

  void report(const Job& job) {
    if (job.error != 0)
      collected_.add(
          Finding{"import.fio_error",
                  "error",
                  fmt::format("fio's job {} ended with error {:.0f}: its figures do not count.", job.name, job.error),
                  "Look at fio's own messages; a full or read-only file system is the usual cause.",
                  {}});
    const bool random = job.rw.starts_with("rand");
    const bool sequential = job.rw == "read" || job.rw == "write" || job.rw == "rw" || job.rw == "readwrite";
    const auto block = binary_bytes(job.bs.empty() ? "4096" : job.bs.substr(0, job.bs.find_first_of(",-")));
    for (const auto& [side, sum] : job.directions) {
      if ((!random && !sequential) || !block) {
        collected_.note(
            fmt::format("job {}, {}: {} at {} IOPS; the document does not say rw and bs, so no metric takes it",
                        job.name, side, quantity_text(sum.bytes_per_second / 1e9, "GB/s"), number_text(sum.iops)));
        continue;
      }
      const bool fits = random ? *block == small_block : *block >= large_block;
      if (!fits) {
        collected_.note(
            fmt::format("{} {} of {}: {}, {} IOPS; metrics here are of random 4 KiB and of sequential large blocks",
                        random ? "random" : "sequential", side, binary_bytes_text(*block),
                        quantity_text(sum.bytes_per_second / 1e9, "GB/s"), number_text(sum.iops)));
        continue;
      }
      report_side(job, side, sum, random, *block);
    }
  }

  void keep(Measurement made, const Job& job) {
    if (job.error != 0) {
      made.status = Outcome::failed;
      made.reason = fmt::format("fio ended with error {:.0f}", job.error);
      made.value.reset();
    } else if (job.direct && !*job.direct) {
      made.status = Outcome::failed;
      made.reason = "through the page cache (direct=0): not a rate of the device";
      made.evidence["through_page_cache"] = *made.value;
      made.value.reset();
    }
    collected_.add(made);
  }

  void report_side(const Job& job, const std::string& side, const Direction& sum, bool random, double block) {
    const std::string name = fmt::format("storage.{}{}", random ? "random_" : "", side);
    const std::string id =
        fmt::format("{}/fio/{}/bs:{:.0f}{}", name, job.rw, block, job.host.empty() ? "" : "/" + job.host);
    if (!job.direct) collected_.note("whether fio went past the page cache (direct) is not in the document");
    if (job.directions.size() > 1)
      collected_.note("reads and writes at the same time: each figure is lower than alone");
    Measurement made = measured(id, name + (random ? ".iops" : ".gbps"), random ? "IOPS" : "GB/s",
                                random ? sum.iops : sum.bytes_per_second / 1e9, conditions(job, block));
    made.evidence = {{"bytes_per_second", sum.bytes_per_second}, {"iops", sum.iops}, {"jobname", job.name}};
    if (!sum.percentiles_us.empty()) made.evidence["percentiles_us"] = sum.percentiles_us;
    keep(made, job);
    if (!random && side == "write") collected_.note("a final fsync is in fio's write rate only with end_fsync");
    if (!random || !sum.complete_latency || sum.operations <= 0) return;
    made.metric = name + ".latency.us";
    made.unit = "us";
    made.value = sum.latency_sum / sum.operations;
    keep(made, job);
  }

  Collected& collected_;
  const json& document_;
  json global_;
  std::map<std::string, Job> jobs_;
  std::string common_rw_, common_bs_, common_direct_;
  bool version_2_ = false;
};

// What stands before and behind the document, of the client above all.
class FioText : public Reader {
 public:
  explicit FioText(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    if (contains(text, "hostname=") && contains(text, "fio=fio-")) {
      ++hosts_;
      const Fields words(*after(text, "fio=fio-"));
      std::string_view version = words[0];
      if (version.ends_with(',')) version.remove_suffix(1);
      collected_.system("/software/fio", std::string(version));
      return true;
    }
    const std::size_t close = text.find('>');
    if (text.starts_with('<') && close != std::string_view::npos && close > 1 && hosts_ > 0) return true;
    if (contains(text, "error=") && text.starts_with("fio:")) {
      collected_.add(Finding{"import.fio_error",
                             "error",
                             fmt::format("fio failed: \"{}\".", text.substr(0, 200)),
                             "Look at the file, its directory and its free space.",
                             {}});
      return true;
    }
    return text.starts_with("Jobs: ") || text.starts_with("Disk stats (read/write)") || text.starts_with("fio-") ||
           (text.starts_with("Starting ") && (contains(text, "process") || contains(text, "thread")));
  }

  void end(bool) override {
    if (hosts_ == 0) return;
    collected_.note(fmt::format("fio ran as client of {} host{}", hosts_, hosts_ == 1 ? "" : "s"));
  }

 private:
  Collected& collected_;
  int hosts_ = 0;
};

}  // namespace

std::unique_ptr<Reader> open_fio(Collected& collected) { return std::make_unique<FioText>(collected); }

bool document_fio(Collected& collected, const json& value) {
  return value.is_object() && FioDocument(collected, value).read();
}

}  // namespace claimcheck::importing
