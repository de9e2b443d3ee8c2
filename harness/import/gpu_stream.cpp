// gpu_stream of SuperBench: STREAM kernels with several sizes of thread blocks on each GPU, and a peak that the tool
// computes itself from clock and bus width.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/gpu_stream_name.h"
#include "harness/import/measured.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

class GpuStream : public Reader {
 public:
  explicit GpuStream(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    return device(text) || row(text) || heading(text);
  }

  void end(bool whole) override {
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    for (const auto& [key, entry] : rows_) report(entry);
    if (!rows_.empty() && !checked_) collected_.note("gpu_stream did not check the data (\"Check data: No\")");
    if (!rows_.empty() && rows_.rbegin()->second.name.kernel != "memory.triad")
      collected_.partial("the table ends before TRIAD: the log was cut");
  }

 private:
  struct Row {
    GpuStreamName name;
    std::map<int, double> gbps;  // by GPU
    std::map<int, double> percent;
  };

  // Device 0: "NVIDIA ..."  152 SMs(10.0)  Memory: 4000MHz x 8192-bit = 8192 GB/s PEAK   ECC is ON
  bool device(std::string_view text) {
    if (!text.starts_with("Device ") || !contains(text, "SMs(")) return false;
    const auto index = importing::number(text.substr(7, text.find(':') - 7));
    const std::size_t open = text.find('"');
    const std::size_t close = text.find('"', open + 1);
    if (!index || *index < 0 || *index > 4095 || close == std::string_view::npos) return false;
    const std::string name(text.substr(open + 1, close - open - 1));
    json facts;
    const std::string_view rest = trimmed(text.substr(close + 1));
    if (const auto units = quantity(rest)) facts["sm_count"] = units->value;
    if (const auto capability = after(rest, "SMs("))
      facts["compute_capability"] = std::string(capability->substr(0, capability->find(')')));
    if (const auto bus = after(rest, " x "))
      if (const auto bits = quantity(*bus)) facts["memory_bus_bits"] = bits->value;
    if (const auto peak = after(rest, " = "))
      if (const auto rate = quantity(*peak)) facts["printed_peak_gbps"] = rate->value;
    const bool on = contains(text, "ECC is ON");
    if (on || contains(text, "ECC is OFF")) {
      ecc_ = on ? "on" : "off";
      facts["ecc"] = on;
    }
    names_[static_cast<int>(*index)] = name;
    collected_.device(static_cast<int>(*index), {{"name", name}, {"facts", facts}});
    if (name == "NVIDIA Graphics Device")
      collected_.note(
          fmt::format("\"{}\" is no product: the driver does not know the GPU; compute capability {}, {} "
                      "SMs and the bus width tell what it is",
                      name, text_of(facts, "compute_capability"), number_of(facts, "sm_count").value_or(0)));
    return true;
  }

  bool row(std::string_view text) {
    if (!text.starts_with("STREAM_")) return false;
    const Fields words(text);
    const auto name = gpu_stream_name(words[0]);
    if (!name || words.size() < 2) return false;
    const auto rate = importing::number(words[1]);
    if (!rate || *rate <= 0) return false;
    Row& kept = rows_[fmt::format("{}/{}/{:.0f}/{:.0f}", name->kernel, name->type, name->bytes, name->block)];
    kept.name = *name;
    kept.gbps[name->gpu] = *rate;
    if (words.size() > 2)
      if (const auto share = importing::number(words[2])) kept.percent[name->gpu] = *share;
    return true;
  }

  bool heading(std::string_view text) {
    if (text == "STREAM Benchmark") return true;
    if (text.starts_with("Check data:")) {
      checked_ = contains(text, "Yes") || contains(text, "true");
      return true;
    }
    return text.starts_with("Buffer size") || text.starts_with("Number of warm up") ||
           text.starts_with("Number of loops");
  }

  void report(const Row& row) {
    json conditions = {{"method", "SuperBench gpu_stream"},
                       {"data_type", row.name.type},
                       {"bytes", row.name.bytes},
                       {"block", row.name.block},
                       {"checked", checked_}};
    if (!ecc_.empty()) conditions["ecc"] = ecc_;
    const auto slowest = std::min_element(row.gbps.begin(), row.gbps.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    Measurement made = measured(fmt::format("{}/gpu_stream/block:{:.0f}", row.name.kernel, row.name.block),
                                row.name.kernel + ".gbps", "GB/s", slowest->second, conditions);
    for (const auto& [gpu, rate] : row.gbps) made.devices.push_back({gpu, names_[gpu], rate});
    if (const auto share = row.percent.find(slowest->first); share != row.percent.end())
      made.evidence["printed_percent_of_peak"] = share->second;
    collected_.add(made);
  }

  Collected& collected_;
  std::map<std::string, Row> rows_;
  std::map<int, std::string> names_;
  std::string ecc_;
  bool checked_ = false;
};

}  // namespace

std::optional<GpuStreamName> gpu_stream_name(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kernels = {
      {{"STREAM_COPY_", "memory.copy"},
       {"STREAM_SCALE_", "memory.scale"},
       {"STREAM_ADD_", "memory.add"},
       {"STREAM_TRIAD_", "memory.triad"}}};
  const auto behind = [&](std::string_view mark) -> std::optional<double> {
    const auto rest = after(word, mark);
    if (!rest) return std::nullopt;
    return number(rest->substr(0, rest->find('_')));
  };
  for (const auto& [prefix, metric] : kernels) {
    if (!word.starts_with(prefix)) continue;
    GpuStreamName name;
    name.kernel = std::string(metric);
    const std::string_view rest = word.substr(prefix.size());
    name.type = rest.starts_with("float") ? "fp32" : "fp64";
    const auto gpu = behind("_gpu_");
    if (gpu && *gpu >= 0 && *gpu < 4096) name.gpu = static_cast<int>(*gpu);
    name.bytes = behind("_buffer_").value_or(0);
    name.block = behind("_block_").value_or(0);
    return name;
  }
  return std::nullopt;
}

std::unique_ptr<Reader> open_gpu_stream(Collected& collected) { return std::make_unique<GpuStream>(collected); }

}  // namespace claimcheck::importing
