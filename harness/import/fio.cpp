// fio with --output-format=json, alone or as client of several servers. A job is known by rw and bs, never by its name;
// bw_bytes is bytes a second, where bw is KiB a second; times are in ns from fio 3 on and in us before.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/import/fields.h"
#include "harness/import/fio_job.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

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

void add_side(FioJob& job, const std::string& name, const json& side, bool version_2) {
  const double operations = number_of(side, "total_ios").value_or(0);
  const double iops = number_of(side, "iops").value_or(0);
  auto rate = number_of(side, "bw_bytes");
  // Before bw_bytes there was bw alone, in KiB a second.
  if (!rate)
    if (const auto kibibytes = number_of(side, "bw")) rate = *kibibytes * 1024;
  if (iops <= 0 && operations <= 0) return;
  FioDirection& sum = job.directions[name];
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
    const std::string file = option(json::object(), global_, {"filename"});
    for (const auto& [key, job] : jobs_) report_fio_job(collected_, job, file);
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
    FioJob& job = jobs_[fmt::format("{}\n{}\n{}", group, name, host)];
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

  Collected& collected_;
  const json& document_;
  json global_;
  std::map<std::string, FioJob> jobs_;
  std::string common_rw_, common_bs_, common_direct_;
  bool version_2_ = false;
};

}  // namespace

bool document_fio(Collected& collected, const json& value) {
  return value.is_object() && FioDocument(collected, value).read();
}

}  // namespace claimcheck::importing
