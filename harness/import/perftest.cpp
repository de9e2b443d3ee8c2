// perftest (ib_write_bw, ib_read_bw, ib_send_bw and their latencies), text and --out_json. Client and server of one
// test may stand in one file: they are one measurement.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"
#include "harness/import/perftest_run.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::size_t most_runs = 10'000;
constexpr std::size_t most_rows = 1'000;

constexpr std::array<std::string_view, 10> failures = {
    "Couldn't connect to",       "Completion with error", "Failed status", "Failed to modify QP",
    "Unable to init the socket", "Couldn't listen to",    "Couldn't read", "Couldn't allocate MR",
    "Unable to Connect",         "Problems with warm up"};

// Lines without a figure that perftest is known to print.
constexpr std::array<std::string_view, 13> chatter = {"Waiting for client to connect",
                                                      "****",
                                                      "initializing CUDA",
                                                      "Listing all CUDA devices",
                                                      "CUDA device ",
                                                      "creating CUDA Ctx",
                                                      "making it the current CUDA Ctx",
                                                      "cuMemAlloc() of",
                                                      "allocated GPU buffer",
                                                      "deallocating ",
                                                      "destroying current CUDA",
                                                      "Conflicting CPU frequency",
                                                      "Perftest doesn't support"};

// "Device         : mlx5_0": the word behind the colon.
std::string value_behind(std::string_view text, std::string_view key) {
  const auto rest = after(text, key);
  if (!rest || rest->empty() || rest->front() != ':') return "";
  const Fields words(rest->substr(1));
  return words.size() > 0 ? std::string(words[0]) : "";
}

// "ib_write_bw", "ib_send_lat" of a command line, in the words of the banner; empty when there is none.
std::string test_of_command(std::string_view text) {
  for (const auto& [name, test] :
       std::array<std::pair<std::string_view, std::string_view>, 6>{{{"ib_write_bw", "RDMA_Write BW"},
                                                                     {"ib_read_bw", "RDMA_Read BW"},
                                                                     {"ib_send_bw", "Send BW"},
                                                                     {"ib_write_lat", "RDMA_Write Latency"},
                                                                     {"ib_read_lat", "RDMA_Read Latency"},
                                                                     {"ib_send_lat", "Send Latency"}}})
    if (contains(text, name)) return std::string(test);
  return "";
}

class PerftestText : public Reader {
 public:
  explicit PerftestText(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    if (is_banner(text) || is_header(text) || is_row(text)) return true;
    return is_property(text) || is_address(text) || is_gpu(text) || is_other(text);
  }

  void end(bool whole) override {
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    next_run();
    std::vector<bool> other(runs_.size(), false);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (other[i]) continue;
      for (std::size_t j = i + 1; j < std::min(runs_.size(), i + 64); ++j)
        if (!other[j] && other_end(runs_[i], runs_[j])) {
          other[j] = true;
          collected_.note("client and server of one test are in this file: counted once");
          break;
        }
      report(runs_[i]);
    }
  }

 private:
  void next_run() {
    if (begun_ && runs_.size() < most_runs) runs_.push_back(std::move(run_));
    run_ = {};
    begun_ = false;
    in_table_ = false;
  }

  // "RDMA_Write Bidirectional BW Test", "Send Latency Test"
  bool is_banner(std::string_view text) {
    if (!text.ends_with(" Test")) return false;
    const bool latency = contains(text, "Latency Test");
    if (!latency && !contains(text, "BW Test")) return false;
    next_run();
    begun_ = true;
    run_.bidirectional = contains(text, "Bidirectional");
    std::string name(text.substr(0, text.size() - 5));
    if (const std::size_t at = name.find("Bidirectional "); at != std::string::npos) name.erase(at, 14);
    run_.test = name;
    run_.gpu = std::exchange(gpu_, "");
    run_.no_peak = std::exchange(no_peak_, false);
    return true;
  }

  bool is_header(std::string_view text) {
    const std::size_t begin = text.find("#bytes");
    if (begin == std::string_view::npos || begin > 2) return false;
    if (!begun_) {
      // An excerpt, or a second table under one banner.
      const std::string test = std::exchange(command_, "");
      next_run();
      begun_ = true;
      run_.test = test;
      run_.gpu = std::exchange(gpu_, "");
    }
    in_table_ = true;
    rates_ = contains(text, "BW average");
    typical_ = contains(text, "t_typical");
    cycles_ = contains(text, "[cycles]");
    if (rates_) run_.unit = perftest_unit(text);
    if (cycles_) collected_.note("latencies are in CPU cycles: without the clock no time can be told");
    return true;
  }

  bool is_row(std::string_view text) {
    if (!in_table_ || text.front() < '0' || text.front() > '9') return false;
    const Fields fields(text);
    const auto bytes = importing::number(fields[0]);
    const auto iterations = fields.size() > 1 ? importing::number(fields[1]) : std::nullopt;
    if (!bytes || !iterations || fields.size() < 3) return false;
    PerftestRow row;
    row.bytes = *bytes;
    row.iterations = iterations;
    const auto at = [&](std::size_t i) { return i < fields.size() ? importing::number(fields[i]) : std::nullopt; };
    if (rates_) {
      row.peak = at(2);
      row.average = at(3);
      row.million_messages = at(4);
    } else if (!cycles_) {
      row.typical_us = typical_ ? at(4) : std::nullopt;
      row.average_us = typical_ ? at(5) : at(2);
      row.percentile_99_us = typical_ ? at(7) : std::nullopt;
    }
    if (run_.rows.size() < most_rows) run_.rows.push_back(row);
    return true;
  }

  bool is_property(std::string_view text) {
    static constexpr std::array<std::string_view, 16> keys = {
        "Dual-port",   "Number of qps",   "Connection type", "PCIe relax order",
        "ibv_wr* API", "TX depth",        "RX depth",        "CQ Moderation",
        "Mtu",         "Link type",       "GID index",       "Max inline data",
        "rdma_cm QPs", "Data ex. method", "Outstand reads",  "Use ROCm"};
    const bool known = std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
      return text.starts_with(key) && contains(text.substr(key.size()), ":");
    });
    if (!known) return false;
    const auto keep = [&](std::string& place, std::string_view key) {
      if (std::string value = value_behind(text, key); !value.empty()) place = std::move(value);
    };
    keep(run_.device, "Device");
    keep(run_.connection, "Connection type");
    keep(run_.link, "Link type");
    if (const std::string pairs = value_behind(text, "Number of qps"); !pairs.empty())
      run_.queue_pairs = importing::number(pairs);
    return true;
  }

  // " local address: LID 0x1 QPN 0x5f PSN ...", with GIDs on a line of their own under it
  bool is_address(std::string_view text) {
    for (const bool local : {true, false}) {
      const auto rest = after(text, local ? "local address:" : "remote address:");
      if (!rest) continue;
      const Fields words(*rest);
      std::string lid, pair;
      for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] == "LID") lid = std::string(words[i + 1]);
        if (words[i] == "QPN") pair = std::string(words[i + 1]);
      }
      const bool real = !lid.empty() && lid != "0000" && lid != "0x00" && lid != "0x0" && lid != "0";
      std::string& end = local ? run_.local : run_.remote;
      if (end.empty()) {  // of the first queue pair; RoCE has no LID
        end = lid + "/" + pair;
        if (real) (local ? run_.local_port : run_.remote_port) = lid;
      }
      last_local_ = local;
      return true;
    }
    if (const auto gid = after(text, "GID:"); gid && text.starts_with("GID:")) {
      std::string& port = last_local_ ? run_.local_port : run_.remote_port;
      std::string& end = last_local_ ? run_.local : run_.remote;
      if (contains(*gid, "00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00")) return true;
      if (port.empty()) {
        port = std::string(*gid);
        end += "/" + port;
      }
      return true;
    }
    return false;
  }

  bool is_gpu(std::string_view text) {
    if (const auto name = after(text, "device name = ["); name && contains(text, "[pid =")) {
      gpu_ = std::string(name->substr(0, name->find(']')));
      int index = 0;
      if (const auto dev = after(text, "dev = "))
        index = static_cast<int>(std::strtol(std::string(*dev).c_str(), nullptr, 10));
      collected_.device(index, {{"name", gpu_}});
      return true;
    }
    if (contains(text, "Picking device No.") || contains(text, "--use_cuda") || contains(text, "--use_rocm")) {
      if (gpu_.empty()) gpu_ = "GPU";
      if (const std::string test = test_of_command(text); !test.empty()) command_ = test;
      return true;
    }
    return false;
  }

  bool is_other(std::string_view text) {
    if (contains(text, "BW peak won't be measured")) return no_peak_ = true;
    const auto mentions = [&](std::string_view part) { return contains(text, part); };
    if (std::any_of(failures.begin(), failures.end(), mentions)) {
      failed_ = true;
      collected_.add(
          Finding{"import.perftest_failed",
                  "error",
                  fmt::format("perftest failed: \"{}\".", text.substr(0, 200)),
                  "Start the server first; check the port's state (ibstat), the GID index (-x) and ulimit -l.",
                  {}});
      return true;
    }
    if (const std::string test = test_of_command(text); !test.empty()) {
      command_ = test;
      return true;
    }
    return text.starts_with("-----") || std::any_of(chatter.begin(), chatter.end(), mentions);
  }

  void report(const PerftestRun& run) {
    if (!run.rows.empty()) return report_perftest(collected_, run);
    collected_.partial("perftest printed its banner and no result: it hung, or the log was cut");
    if (!run.gpu.empty() || run.bidirectional || run.no_peak) {
      PerftestRun empty = run;
      if (empty.unit == PerftestUnit::unknown) empty.unit = PerftestUnit::mebibytes;
      report_perftest(collected_, empty);
    }
    if (failed_) return;
    collected_.add(
        Finding{"import.no_result",
                "warning",
                fmt::format("{}{} has no line of results here: nothing was measured.",
                            run.test.empty() ? "perftest" : run.test, run.device.empty() ? "" : " on " + run.device),
                "Import the whole output; a test that stops here waits for its other end.",
                {}});
  }

  Collected& collected_;
  std::vector<PerftestRun> runs_;
  PerftestRun run_;
  std::string gpu_;      // of the next run: its lines come before the banner
  std::string command_;  // likewise
  bool begun_ = false, in_table_ = false, rates_ = false, typical_ = false, cycles_ = false;
  bool no_peak_ = false, last_local_ = true, failed_ = false;
};

// ---- JSON

// A key that may carry its unit: "BW_average", "BW_average[Gb/sec]".
const json* figure(const json& result, std::string_view name, std::string_view& key) {
  for (const auto& [found, value] : result.items())
    if (found.starts_with(name) && (found.size() == name.size() || found[name.size()] == '[') && value.is_number()) {
      key = found;
      return &value;
    }
  return nullptr;
}

// Newer versions do not say the unit, but the rate of messages does.
PerftestUnit unit_by_rate(const PerftestRow& row) {
  if (!row.average || !row.million_messages || !(*row.million_messages > 0) || row.bytes <= 0)
    return PerftestUnit::unknown;
  const double bytes = *row.million_messages * 1e6 * row.bytes;
  const auto near = [&](double factor) { return std::abs(*row.average * factor / bytes - 1) < 0.03; };
  if (near(1e9 / 8)) return PerftestUnit::gigabits;
  return near(1048576) ? PerftestUnit::mebibytes : PerftestUnit::unknown;
}

void add_result(PerftestRun& run, const json& result) {
  if (!result.is_object()) return;
  PerftestRow row;
  std::string_view key;
  const auto get = [&](std::string_view name) -> std::optional<double> {
    const json* value = figure(result, name, key);
    return value == nullptr ? std::nullopt : std::optional(value->get<double>());
  };
  row.bytes = get("MsgSize").value_or(0);
  row.iterations = get("n_iterations");
  row.peak = get("BW_peak");
  row.million_messages = get("MsgRate");
  row.typical_us = get("t_typical");
  row.percentile_99_us = get("t_99_percentile");
  row.average_us = get("t_avg");
  row.average = get("BW_average");
  if (run.unit == PerftestUnit::unknown && row.average) run.unit = perftest_unit(key);
  if (run.unit == PerftestUnit::unknown) run.unit = unit_by_rate(row);
  if (run.rows.size() < most_rows) run.rows.push_back(row);
}

bool perftest_json(Collected& collected, const json& value) {
  if (!value.is_object() || !value.contains("test_info")) return false;
  const auto results = value.find("results");
  const json& info = value["test_info"];
  if (!info.is_object() || results == value.end()) return false;
  PerftestRun run;
  run.test = text_of(info, "test");
  run.bidirectional = contains(run.test, "Bidirectional");
  run.device = text_of(info, "Device");
  run.connection = text_of(info, "Connection_type");
  run.link = text_of(info, "Link_type");
  run.queue_pairs = number_of(info, "Number_of_qps");
  for (const char* key : {"CUDA_device", "cuda_device", "use_cuda"})
    if (info.contains(key)) run.gpu = "GPU";
  if (run.test.empty()) run.test = test_of_command(text_of(info, "cmd"));
  if (results->is_array())
    for (const json& result : *results) add_result(run, result);
  else
    add_result(run, *results);
  report_perftest(collected, run);
  return true;
}

}  // namespace

std::unique_ptr<Reader> open_perftest(Collected& collected) { return std::make_unique<PerftestText>(collected); }
bool document_perftest(Collected& collected, const json& value) { return perftest_json(collected, value); }

}  // namespace claimcheck::importing
