// Which figures a document gives. Everything but the measurements themselves is open in shape: what has another one is
// left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/cost/list_price.h"
#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/physics.h"
#include "harness/report/html/figure.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck::report {
namespace {

using nlohmann::json;

constexpr std::size_t least_points = 2;
constexpr std::size_t most_costs = 12;

std::string comparison_of(const Verdict& verdict) { return text_at(verdict.claim.definition, "comparison"); }

// What the data sheet or the seller says of a metric: the first such claim, in the metric's own unit.
std::optional<double> claimed(const Document& document, const std::string& metric) {
  const Metric* known = find_metric(metric);
  for (const Verdict& verdict : document.verdicts) {
    if (verdict.claim.metric != metric || comparison_of(verdict) == "typical" || !verdict.claim.value.is_number())
      continue;
    const bool of_a_device = text_at(verdict.claim.definition, "per") != "node";
    if (known != nullptr && verdict.claim.unit == known->unit && of_a_device &&
        !flag_at(verdict.claim.definition, "sparse"))
      return verdict.claim.value.get<double>();
  }
  return std::nullopt;
}

// The middle of what healthy machines reach.
std::optional<double> typical(const Document& document, const std::string& metric) {
  for (const Verdict& verdict : document.verdicts) {
    if (verdict.claim.metric != metric || comparison_of(verdict) != "typical") continue;
    const json span = verdict.claim.definition.value("typical", json());
    if (span.is_number()) return span.get<double>();
    if (span.is_array() && span.size() == 2 && span[0].is_number() && span[1].is_number())
      return (span[0].get<double>() + span[1].get<double>()) / 2;
  }
  return std::nullopt;
}

void drop_empty(Figure& figure) {
  std::erase_if(figure.series, [](const Series& series) {
    return std::none_of(series.values.begin(), series.values.end(),
                        [](const auto& value) { return value.has_value(); });
  });
}

Figure flops(const Document& document, const ReportOptions& options) {
  Figure figure{"flops",
                "Matrix multiply by data type",
                "Median of the slowest device, dense, on random data.",
                "data type",
                "TFLOPS",
                {},
                {},
                false,
                true,
                320};
  Series measured{"measured", "bar", {}}, sheet{"claimed", "mark", {}}, usual{"typical", "mark", {}},
      most{"ceiling", "mark", {}};
  for (const Metric& metric : metrics()) {
    if (!metric.key.starts_with("gemm.") || metric.unit != "TFLOPS") continue;
    const Measurement* speaks = headline(document, metric.key);
    if (speaks == nullptr) continue;
    figure.labels.push_back(gemm_data_type(metric.key));
    measured.values.push_back(speaks->value);
    sheet.values.push_back(claimed(document, metric.key));
    usual.values.push_back(typical(document, metric.key));
    const auto limit = options.catalog == nullptr ? std::nullopt : ceiling(document, *speaks, *options.catalog);
    most.values.push_back(limit ? std::optional(limit->value) : std::nullopt);
  }
  figure.series = {measured, sheet, usual, most};
  return figure;
}

// Each device against the fastest, so that metrics of all units stand side by side.
Figure spread(const Document& document) {
  Figure figure{"spread",
                "Each GPU against the fastest",
                "100 % is the fastest GPU of the same measurement.",
                "GPU",
                "1",
                {},
                {},
                false,
                false,
                300};
  for (const char* key : {"gemm.bf16.tflops", "gemm.fp16.tflops", "gemm.fp32.tflops", "memory.read.gbps",
                          "memory.triad.gbps", "host_link.h2d.gbps", "host_link.d2h.gbps"}) {
    const Measurement* speaks = headline(document, key);
    if (speaks == nullptr || speaks->devices.size() < 2 || figure.series.size() >= 4) continue;
    double fastest = 0;
    for (const DeviceValue& device : speaks->devices) fastest = std::max(fastest, device.value.value_or(0));
    if (!(fastest > 0)) continue;
    if (figure.labels.empty())
      for (const DeviceValue& device : speaks->devices) figure.labels.push_back(fmt::format("GPU {}", device.index));
    if (speaks->devices.size() != figure.labels.size()) continue;
    const Metric* metric = find_metric(key);
    Series series{metric == nullptr ? key : metric->name, "bar", {}};
    for (const DeviceValue& device : speaks->devices)
      series.values.push_back(device.value ? std::optional(*device.value / fastest) : std::nullopt);
    figure.series.push_back(std::move(series));
  }
  return figure;
}

// Collectives out of place, all ranks, by size.
Figure curve(const Document& document) {
  Figure figure{"collectives",
                "Collectives by message size",
                "Bus bandwidth as nccl-tests defines it, out of place.",
                "bytes",
                "GB/s",
                {},
                {},
                false,
                true,
                340};
  std::map<double, std::map<std::string, double>> by_size;
  std::map<std::string, double> ranks;
  for (const Measurement& measurement : document.measurements) {
    const auto bytes = number_at(measurement.conditions, "/bytes");
    if (!measurement.metric.ends_with(".busbw.gbps") || !measurement.value || !bytes ||
        flag_at(measurement.conditions, "in_place"))
      continue;
    const double count = number_at(measurement.conditions, "/ranks").value_or(0);
    if (count < ranks[measurement.metric]) continue;
    ranks[measurement.metric] = count;
    by_size[*bytes][measurement.metric] = *measurement.value;
  }
  for (const auto& [metric, count] : ranks) {
    Series series{fmt::format("{}, {:.0f} ranks", metric.substr(0, metric.find('.')), count), "line", {}};
    std::size_t points = 0;
    for (const auto& [bytes, values] : by_size) {
      const auto found = values.find(metric);
      series.values.push_back(found == values.end() ? std::nullopt : std::optional(found->second));
      points += found != values.end() ? 1 : 0;
    }
    if (points >= least_points) figure.series.push_back(std::move(series));
  }
  for (const auto& [bytes, values] : by_size) figure.labels.push_back(binary_bytes_text(bytes));
  return figure;
}

Figure scaling(const Document& document) {
  Figure figure{"scaling",
                "Scaling efficiency",
                "What is left of the speed of one when several work at once.",
                "ranks",
                "1",
                {},
                {},
                false,
                true,
                300};
  std::map<double, std::map<std::string, double>> by_ranks;
  std::map<std::string, std::size_t> points;
  for (const Measurement& measurement : document.measurements) {
    const auto count = number_at(measurement.conditions, "/ranks");
    if (!measurement.metric.starts_with("scaling.") || !measurement.metric.ends_with(".efficiency") ||
        !measurement.usable() || !count)
      continue;
    const std::string family = measurement.metric.substr(8, measurement.metric.rfind('.') - 8);
    if (by_ranks[*count].emplace(family, *measurement.value).second) ++points[family];
  }
  for (const auto& [family, count] : points) {
    Series series{family, "line", {}};
    for (const auto& [ranks, values] : by_ranks) {
      const auto found = values.find(family);
      series.values.push_back(found == values.end() ? std::nullopt : std::optional(found->second));
    }
    figure.series.push_back(std::move(series));
  }
  for (const auto& [ranks, values] : by_ranks) figure.labels.push_back(fmt::format("{:.0f}", ranks));
  return figure;
}

// The cheapest of the catalog and all that was measured, in the table's own order.
Figure money(const Document& document) {
  Figure figure{"cost",
                "What a useful EFLOP costs",
                "Measured here against estimates of the catalog; shorter is better.",
                "machine and term",
                "",
                {},
                {},
                true,
                true,
                120};
  if (!document.cost.is_object()) return figure;
  const std::string currency = text_at(document.cost, "currency");
  figure.unit = currency;
  Series here{"measured", "bar", {}}, elsewhere{"estimate", "bar", {}};
  std::size_t estimates = 0;
  for (const json& row : objects_at(document.cost, "rows")) {
    const auto rate = number_at(row, "/per_eflop");
    if (!rate || *rate <= 0 || !flag_at(row, "converted")) continue;
    const bool measured = text_at(row, "kind") == "measured";
    if (!measured && ++estimates > most_costs) continue;
    figure.labels.push_back(fmt::format("{}, {}", text_at(row, "label"), term_text(text_at(row, "term"))));
    here.values.push_back(measured ? rate : std::nullopt);
    elsewhere.values.push_back(measured ? std::nullopt : rate);
  }
  figure.series = {here, elsewhere};
  figure.height += static_cast<int>(figure.labels.size()) * 22;
  return figure;
}

}  // namespace

std::vector<Figure> figures_of(const Document& document, const ReportOptions& options) {
  std::vector<Figure> figures;
  for (Figure figure :
       {flops(document, options), spread(document), curve(document), scaling(document), money(document)}) {
    drop_empty(figure);
    const bool shows = figure.labels.size() >= (figure.id == "flops" || figure.id == "cost" ? 1 : least_points);
    if (shows && !figure.series.empty()) figures.push_back(std::move(figure));
  }
  for (Figure& figure : soak_figures(document)) {
    drop_empty(figure);
    if (!figure.series.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace claimcheck::report
