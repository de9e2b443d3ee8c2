#include "harness/import/perftest_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/import/fields.h"
#include "harness/import/measured.h"
#include "harness/report/quantity.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

// write, read, send; empty for what has no metric (atomics) or is not known.
std::string_view operation(const PerftestRun& run) {
  if (contains(run.test, "Atomic")) return "";
  if (contains(run.test, "Write")) return "write";
  if (contains(run.test, "Read")) return "read";
  return contains(run.test, "Send") ? "send" : "";
}

double bytes_per_second(const PerftestRun& run, double figure) {
  return run.unit == PerftestUnit::gigabits ? figure * 1e9 / 8 : figure * 1048576;
}

std::string bandwidth_metric(const PerftestRun& run) {
  // What one GPU gets through its adapter is what a rail carries.
  if (!run.gpu.empty()) return "network.rail.gbps";
  const std::string family = run.efa() ? "network.efa" : "network.ib";
  return family + (operation(run) == "read" ? ".read.gbps" : ".gbps");
}

json conditions_of(const PerftestRun& run, const PerftestRow& row) {
  json made = {{"method", "perftest"}, {"bytes", row.bytes}, {"operation", operation(run)}};
  if (!run.device.empty()) made["adapter"] = run.device;
  if (!run.connection.empty()) made["connection"] = run.connection;
  if (!run.link.empty()) made["link"] = run.link == "Ethernet" ? "RoCE" : run.link;
  if (run.queue_pairs) made["queue_pairs"] = *run.queue_pairs;
  if (row.iterations) made["iterations"] = *row.iterations;
  made["memory"] = run.gpu.empty() ? "host" : "gpu";
  if (!run.gpu.empty() && run.gpu != "GPU") made["gpu"] = run.gpu;
  if (run.bidirectional) made["bidirectional"] = true;
  return made;
}

void set_loopback(Measurement& made, const std::string& figure) {
  made.status = Outcome::unsupported;
  made.reason =
      fmt::format("loopback: both ends are one port, {} never left the adapter; not a network measurement", figure);
  made.evidence["loopback_value"] = *made.value;
  made.value.reset();
}

void report_bandwidth(Collected& collected, const PerftestRun& run, const PerftestRow& row) {
  if (!row.average || !(*row.average > 0)) return;
  const double total = bytes_per_second(run, *row.average) / 1e9;
  const double rate = run.bidirectional ? total / 2 : total;
  const std::string metric = bandwidth_metric(run);
  Measurement made = measured(fmt::format("{}/bytes:{:.0f}", metric.substr(0, metric.rfind('.')), row.bytes), metric,
                              "GB/s", rate, conditions_of(run, row));
  made.evidence = {{"printed_average", *row.average},
                   {"printed_unit", run.unit == PerftestUnit::gigabits ? "Gb/s" : "MiB/s"},
                   {"gbit_per_second", total * 8}};
  if (row.peak && *row.peak > 0) made.evidence["peak_gbps"] = bytes_per_second(run, *row.peak) / 1e9;
  if (run.bidirectional) made.evidence["both_directions_gbps"] = total;
  if (run.loopback()) set_loopback(made, fmt::format("{:.2f} GB/s ({:.1f} Gb/s)", total, total * 8));
  collected.add(made);
}

void report_latency(Collected& collected, const PerftestRun& run, const PerftestRow& row) {
  const auto value = row.typical_us ? row.typical_us : row.average_us;
  if (!value) return;
  if (operation(run) != "send" || !run.gpu.empty()) {
    collected.note(fmt::format("{} of {}{}: {} us, which no metric here takes (they are of sends from host memory)",
                               run.test, binary_bytes_text(row.bytes), run.gpu.empty() ? "" : " in GPU memory",
                               number_text(*value)));
    return;
  }
  const std::string family = run.efa() ? "network.efa" : "network.ib";
  Measurement made = measured(fmt::format("{}.latency/bytes:{:.0f}", family, row.bytes), family + ".latency.us", "us",
                              value, conditions_of(run, row));
  made.conditions["statistic"] = row.typical_us ? "typical" : "average";
  if (row.average_us) made.evidence["average_us"] = *row.average_us;
  if (row.percentile_99_us) made.evidence["p99_us"] = *row.percentile_99_us;
  if (run.loopback()) set_loopback(made, fmt::format("{:.2f} us", *value));
  collected.add(made);
}

void say_what_it_is(Collected& collected, const PerftestRun& run) {
  if (run.loopback()) collected.note("both ends are one port of one adapter: a loopback, not a network measurement");
  if (run.bidirectional && !run.latency())
    collected.note("a bidirectional run prints the sum of both directions: half of it is taken for one direction");
  if (operation(run) == "send" && !run.latency())
    collected.note("sends, not RDMA writes: they take the receiver's CPU part in, and at large sizes reach the same");
  const bool zero = std::any_of(run.rows.begin(), run.rows.end(),
                                [](const PerftestRow& row) { return row.peak && !(*row.peak > 0); });
  if (zero || run.no_peak) collected.note("the peak was not measured (0.00 is no figure): the average counts");
  if (run.gpu.empty()) return;
  collected.note(
      fmt::format("the data are in the memory of {}: a GPUDirect rate of that GPU and adapter, not the "
                  "adapter's own",
                  run.gpu == "GPU" ? "a GPU" : run.gpu));
  collected.add(
      Finding{"import.gpudirect",
              "info",
              fmt::format("perftest sent from GPU memory through {}: the figure is of GPU and adapter together.",
                          run.device.empty() ? "the adapter" : run.device),
              "Compare with host memory (the same test without --use_cuda); where that is faster, take the GPU "
              "that is PIX or PXB to this adapter: nvidia-smi topo -m.",
              {}});
}

}  // namespace

bool PerftestRun::loopback() const { return !local_port.empty() && local_port == remote_port; }

bool PerftestRun::efa() const {
  return connection == "SRD" || device.starts_with("rdmap") || device.starts_with("efa");
}

bool other_end(const PerftestRun& one, const PerftestRun& other) {
  if (one.test != other.test || one.rows.size() != other.rows.size()) return false;
  if (!one.local.empty() && one.local == other.remote && one.remote == other.local) return true;
  // Without addresses only equal figures tell.
  if (!one.local.empty() && !other.local.empty()) return false;
  return !one.rows.empty() && std::equal(one.rows.begin(), one.rows.end(), other.rows.begin(),
                                         [](const PerftestRow& left, const PerftestRow& right) {
                                           return left.bytes == right.bytes && left.average == right.average &&
                                                  left.typical_us == right.typical_us;
                                         });
}

PerftestUnit perftest_unit(std::string_view text) {
  if (contains(text, "Gb/s") || contains(text, "Gbps")) return PerftestUnit::gigabits;
  if (contains(text, "MB/s") || contains(text, "MiB/s")) return PerftestUnit::mebibytes;
  return PerftestUnit::unknown;
}

void report_perftest(Collected& collected, const PerftestRun& run) {
  if (operation(run).empty()) {
    collected.note(run.test.empty()
                       ? "a table of perftest without its banner: whether it wrote, read or sent is unknown"
                       : run.test + ": no metric here takes it");
    return;
  }
  if (!run.latency() && run.unit == PerftestUnit::unknown) {
    collected.note("perftest's unit cannot be told (MiB/s or Gb/s): its rates are left out");
    return;
  }
  say_what_it_is(collected, run);
  for (const PerftestRow& row : run.rows) {
    if (run.latency())
      report_latency(collected, run, row);
    else
      report_bandwidth(collected, run, row);
  }
}

}  // namespace claimcheck::importing
