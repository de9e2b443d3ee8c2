// The metric table, results-schema/metrics.json: what each key is called, its unit, and which way is better.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

enum class Better { higher, lower };

// Which of several cases (sizes, shapes, counts) speaks for the metric.
enum class Select { max, min };

struct Metric {
  std::string key;   // "memory.triad.gbps": stable; renaming one is a breaking change
  std::string name;  // "memory bandwidth, triad"
  std::string unit;  // "GB/s"
  Better better = Better::higher;
  Select select = Select::max;
  std::string per;       // "device", "machine", "rank" or "pair": what one value is of
  double tolerance = 0;  // relative; this far on the wrong side of a typical value is still as expected
  std::string summary;   // one sentence; the definition is in docs/metrics.md
};

// In the order of the table: families together.
const std::vector<Metric>& metrics();

// nullptr when unknown.
const Metric* find_metric(std::string_view key);

std::vector<std::string> near_metrics(std::string_view key, std::size_t most = 3);

// Whether a text can be a metric key: lower-case words joined by dots, two at least.
bool is_metric_key(std::string_view text);

}  // namespace claimcheck
