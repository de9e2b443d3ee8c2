// Burn-in: what each device kept from the first minute to the last, with its rate over time.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/evidence/soak.h"
#include "harness/report/layout.h"
#include "harness/report/quantity.h"
#include "harness/report/text.h"

namespace claimcheck::report {
namespace {

constexpr std::size_t spark_width = 20;

// The rate from nothing to its highest, in eighths: a sag of a few percent is in the numbers beside it.
std::string spark(const Column& column) {
  constexpr std::array bars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double most = 0;
  for (const auto& value : column) most = std::max(most, value.value_or(0));
  if (!(most > 0)) return {};
  std::string text;
  const std::size_t width = std::min(spark_width, column.size());
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t end = (i + 1) * column.size() / width;
    std::optional<double> least;  // a short dip is what one looks for
    for (std::size_t j = i * column.size() / width; j < end; ++j)
      if (column[j] && (!least || *column[j] < *least)) least = column[j];
    text += least ? bars[std::min<std::size_t>(7, static_cast<std::size_t>(std::max(0.0, *least / most * 8)))] : " ";
  }
  return text;
}

std::string change(const Soak& soak, const SoakDevice& device, const char* column) {
  const auto windows = windows_of(soak, device, column);
  if (!windows) return "unknown";
  return fmt::format("{} > {}", number_text(windows->first), number_text(windows->last));
}

void add_rows(const Soak& soak, Table& table) {
  for (const SoakDevice& device : soak.devices) {
    const auto rate = windows_of(soak, device, "tflops");
    const bool cpu = device.columns.count("cpu_clock_mhz") != 0;
    const auto series = device.columns.find("tflops");
    table.add({{fmt::format("{} device {}", soak.benchmark, device.index)},
               {change(soak, device, "tflops")},
               {rate ? percent_text(rate->kept()) : "", Colour::strong},
               {change(soak, device, "gbps")},
               {change(soak, device, cpu ? "cpu_clock_mhz" : "sm_clock_mhz")},
               {change(soak, device, "power_w")},
               {change(soak, device, "temperature_c")},
               {series == device.columns.end() ? "" : spark(series->second)}});
  }
}

}  // namespace

std::string soak_text(const Document& document, const ReportOptions& options) {
  Table table({{"first > last", false, 20},
               {"TFLOPS", true, 16},
               {"kept", true},
               {"GB/s", true, 16},
               {"MHz", true, 12},
               {"W", true, 12},
               {"C", true, 12},
               {"TFLOPS over time", false, spark_width}});
  for (const Soak& soak : soaks_of(document)) {
    add_rows(soak, table);
    table.note(fmt::format("{} of {} segments, {:.0f} s sampled; first and last are {:.0f} s each", soak.measured,
                           soak.segments, soak.seconds.empty() ? 0 : soak.seconds.back(), soak.window_seconds),
               2);
  }
  return table.empty() ? std::string() : table.render(options.width, options.colour);
}

}  // namespace claimcheck::report
