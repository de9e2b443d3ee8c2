// Documents and a small catalog made by hand, for the tests of judging and pricing.
#pragma once

#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"
#include "harness/statistics.h"

namespace claimcheck::made {

// Usable, from samples; the value is their median.
inline Measurement measured(const std::string& id, const std::string& metric, const std::string& unit,
                            const std::vector<double>& samples) {
  Measurement measurement;
  measurement.id = id;
  measurement.metric = metric;
  measurement.unit = unit;
  measurement.status = Outcome::ok;
  measurement.statistics = summarise(samples);
  measurement.value = measurement.statistics->median;
  measurement.conditions = {{"pattern", "normal"}};
  return measurement;
}

inline std::vector<double> six(double value, double spread = 0.001) {
  return {value * (1 - spread), value, value, value, value, value * (1 + spread)};
}

inline Measurement unmeasured(const std::string& id, const std::string& metric, Outcome status,
                              const std::string& reason) {
  Measurement measurement;
  measurement.id = id;
  measurement.metric = metric;
  measurement.status = status;
  measurement.reason = reason;
  return measurement;
}

// A node of 8 x H100 as the cuda worker describes it.
inline Document gpu_node() {
  Document document;
  document.run = {{"status", "complete"}, {"worker", {{"kind", "cuda"}}}};
  document.platform = {{"provider", "aws"}, {"instance", "p5.48xlarge"}, {"region", "us-east-1"}};
  nlohmann::json devices = nlohmann::json::array();
  for (int i = 0; i < 8; ++i) devices.push_back({{"index", i}, {"name", "NVIDIA H100 80GB HBM3"}});
  document.system = {{"devices", devices},
                     {"cpu", {{"model", "AMD EPYC 7R13"}, {"threads", 192}, {"cores", 96}}},
                     {"memory_bytes", 2.0e12 * 1.08},
                     {"disks", nlohmann::json::array()}};
  return document;
}

// 8 devices: the first is the slowest, the others at `others`.
inline Measurement gemm_bf16(double slowest, double others, int devices = 8) {
  Measurement measurement = measured("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", six(slowest));
  measurement.conditions["shape"] = {{"m", 8192}, {"n", 8192}, {"k", 8192}};
  for (int i = 0; i < devices; ++i) {
    measurement.devices.push_back({i, "NVIDIA H100 80GB HBM3", i == 5 % devices ? slowest : others});
  }
  return measurement;
}

// A CPU alone, as the host worker describes it.
inline Document cpu_machine() {
  Document document;
  document.run = {{"status", "complete"}, {"worker", {{"kind", "host"}}}};
  document.system = {{"devices", {{{"index", 0}, {"name", "AMD EPYC 9R14"}, {"compute_units", 2}}}},
                     {"cpu", {{"model", "AMD EPYC 9R14"}, {"threads", 2}, {"cores", 2}}},
                     {"memory_bytes", 8.0e9},
                     {"pci_gpus", nlohmann::json::array()},
                     {"disks", nlohmann::json::array()}};
  return document;
}

inline Measurement on_cpu(Measurement measurement) {
  measurement.devices = {{0, "AMD EPYC 9R14", measurement.value}};
  return measurement;
}

inline Price price(const std::string& instance, const std::string& region, const std::string& term, double per_hour,
                   const std::string& as_of = "2026-07-20", const std::string& currency = "USD") {
  Price made;
  const std::size_t colon = instance.find(':');
  made.provider = instance.substr(0, colon);
  made.instance = instance.substr(colon + 1);
  made.region = region;
  made.term = term;
  made.per_hour = per_hour;
  made.currency = currency;
  made.unit = "instance-hour";
  made.as_of = as_of;
  made.confidence = "high";
  made.sources = {"list"};
  return made;
}

inline Platform platform(const std::string& id, const std::string& accelerator, int count) {
  Platform made;
  made.id = id;
  made.provider = id.substr(0, id.find(':'));
  made.instance = id.substr(id.find(':') + 1);
  made.accelerator = accelerator;
  made.accelerator_count = count;
  made.sources = {"sheet"};
  return made;
}

inline Expected expected(const std::string& accelerator, const std::string& metric, const std::string& unit,
                         double typical, const std::string& source = "measured") {
  Expected made;
  made.id = accelerator + "/" + metric + "/" + source;
  made.kind = "measured";
  made.accelerator = accelerator;
  made.metric = metric;
  made.unit = unit;
  made.typical = typical;
  made.method = "by hand";
  made.date = "2026-01-01";
  made.sources = {source};
  return made;
}

// H100 (989 bf16, typical 800), B200 (2250, typical 1800), and X1 (100), of which nothing measured is known.
inline Catalog catalog() {
  Catalog made;
  for (const char* id : {"sheet", "list", "measured"}) {
    made.sources[id] = {id, std::string("the ") + id, "2026-07-20", "CC0"};
  }
  Accelerator h100;
  h100.id = "nvidia-h100-sxm-80";
  h100.name = "NVIDIA H100 SXM5 80GB";
  h100.vendor = "NVIDIA";
  h100.architecture = "Hopper";
  h100.memory_gb = 80;
  h100.memory_bandwidth_gbps = 3350;
  h100.dense_tflops = {{"bf16", 989}, {"fp64", 34}, {"fp64_tensor", 67}};
  h100.aliases = {"NVIDIA H100 80GB HBM3", "H100 SXM"};
  h100.record = {{"boost_mhz", 1830}, {"device_reported", {{"max_sm_clock_mhz", 1980}}}};
  h100.sources = {"sheet"};
  Accelerator b200 = h100;
  b200.id = "nvidia-b200-180";
  b200.name = "NVIDIA B200 SXM 180GB";
  b200.architecture = "Blackwell";
  b200.dense_tflops = {{"bf16", 2250}};
  b200.memory_bandwidth_gbps = 8000;
  b200.aliases = {"NVIDIA B200"};
  b200.record = nlohmann::json::object();
  Accelerator x1 = b200;
  x1.id = "acme-x1";
  x1.name = "Acme X1";
  x1.vendor = "Acme";
  x1.architecture = "One";
  x1.dense_tflops = {{"bf16", 100}};
  x1.memory_bandwidth_gbps = std::nullopt;
  x1.aliases = {};
  made.accelerators = {h100, b200, x1};
  Platform p5 = platform("aws:p5.48xlarge", h100.id, 8);
  p5.vcpus = 192;
  p5.ram_gib = 2048;
  made.platforms = {p5, platform("aws:p6-b200.48xlarge", b200.id, 8), platform("acme:x1.small", x1.id, 1)};
  made.prices = {price("aws:p5.48xlarge", "us-east-1", "on_demand", 98.32, "2025-05"),
                 price("aws:p5.48xlarge", "us-east-1", "on_demand", 55.04),
                 price("aws:p5.48xlarge", "us-west-1", "on_demand", 68.80),
                 price("aws:p5.48xlarge", "us-east-2", "spot", 20.00),
                 price("aws:p6-b200.48xlarge", "us-east-1", "on_demand", 113.93),
                 price("acme:x1.small", "cn-1", "on_demand", 7.10, "2026-11-01", "CNY")};
  made.expected = {expected(h100.id, "gemm.bf16.tflops", "TFLOPS", 800),
                   expected(h100.id, "memory.read.gbps", "GB/s", 3180),
                   expected(b200.id, "gemm.bf16.tflops", "TFLOPS", 1800)};
  return made;
}

}  // namespace claimcheck::made
