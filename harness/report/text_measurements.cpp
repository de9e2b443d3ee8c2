// Metrics with many cases (sizes, shapes) show the best and the largest; outcomes without a number are always listed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "harness/report/layout.h"
#include "harness/report/quantity.h"
#include "harness/report/text.h"
#include "harness/result/metrics.h"

namespace claimcheck::report {
namespace {

using Cases = std::vector<const Measurement*>;

// All that fit without the reader losing the thread.
constexpr std::size_t most_cases = 4;
constexpr std::size_t reason_indent = 5;

// By metric, in the order of the table; metrics that are not in it last.
std::vector<std::pair<std::string, Cases>> by_metric(const Document& document) {
  std::vector<std::pair<std::string, Cases>> groups;
  const auto group = [&](const std::string& metric) -> Cases& {
    for (auto& [key, cases] : groups) {
      if (key == metric) return cases;
    }
    return groups.emplace_back(metric, Cases{}).second;
  };
  for (const Measurement& measurement : document.measurements) group(measurement.metric).push_back(&measurement);
  const auto rank = [](const std::string& key) {
    const Metric* metric = find_metric(key);
    return metric != nullptr ? metric - metrics().data() : static_cast<std::ptrdiff_t>(metrics().size());
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
  return groups;
}

// How large a case is: ranks and bytes from its conditions, else the number its id ends with.
double size_of(const Measurement& measurement) {
  double size = 0;
  for (const char* key : {"ranks", "bytes"}) {
    const auto found = measurement.conditions.find(key);
    const double value = found != measurement.conditions.end() && found->is_number() ? found->get<double>() : 0;
    size = size * 1e15 + value;
  }
  if (size > 0) return size;
  const std::size_t digits = measurement.id.find_last_not_of("0123456789") + 1;
  const std::string number = measurement.id.substr(digits);
  return number.empty() || number.size() > 15 ? 0 : std::stod(number);
}

struct Shown {
  const Measurement* measurement = nullptr;
  std::string remark;
};

// "best" is the case that speaks for the metric; where the least of a higher-is-better metric does, it is the lowest.
std::string_view word_for_selected(const Metric* metric) {
  return metric != nullptr && metric->select == Select::min && metric->better == Better::higher ? "lowest" : "best";
}

// What is unstable has a value, but does not speak while there is a steady one.
Cases steady(const Cases& cases) {
  Cases usable;
  std::copy_if(cases.begin(), cases.end(), std::back_inserter(usable),
               [](const Measurement* measurement) { return measurement->usable(); });
  return usable.empty() ? cases : usable;
}

std::vector<Shown> speaking(const Metric* metric, const Cases& cases) {
  std::vector<Shown> shown;
  if (cases.size() <= most_cases) {
    for (const Measurement* measurement : cases) shown.push_back({measurement, {}});
    return shown;
  }
  const Cases candidates = steady(cases);
  const bool least = metric != nullptr && metric->select == Select::min;
  const auto before = [least](const Measurement* a, const Measurement* b) {
    return least ? *a->value < *b->value : *a->value > *b->value;
  };
  const auto smaller = [](const Measurement* a, const Measurement* b) { return size_of(*a) < size_of(*b); };
  const Measurement* selected = *std::min_element(candidates.begin(), candidates.end(), before);
  const Measurement* largest = *std::max_element(candidates.begin(), candidates.end(), smaller);
  shown.push_back({selected, std::string(word_for_selected(metric))});
  if (largest == selected) {
    shown.back().remark += " and largest";
  } else {
    shown.push_back({largest, "largest"});
  }
  return shown;
}

std::string label_of(const Shown& shown) {
  const std::string which = case_text(*shown.measurement);
  return shown.remark.empty() || which.empty() ? which + shown.remark : which + ", " + shown.remark;
}

std::string with_case(const std::string& metric, const std::string& which) {
  return which.empty() ? metric : fmt::format("{}, {}", metric, which);
}

void add_value(Table& table, const Measurement& measurement, const std::string& label) {
  std::vector<Table::Cell> row;
  row.push_back({label});
  row.push_back({quantity_text(*measurement.value, measurement.unit), Colour::strong});
  const auto& statistics = measurement.statistics;
  row.push_back({statistics ? range_text(statistics->min, statistics->max, measurement.unit) : ""});
  row.push_back({statistics && statistics->samples.size() > 1 ? percent_text(statistics->cv) : ""});
  row.push_back({statistics && statistics->ci95
                     ? range_text(statistics->ci95->first, statistics->ci95->second, measurement.unit)
                     : ""});
  table.add(std::move(row));
  if (measurement.status != Outcome::ok) {
    table.note(fmt::format("{}: {}", to_string(measurement.status), measurement.reason), reason_indent);
  }
}

// Several devices at once: the value is the slowest one's, so the reader is told which and how far the others are.
void add_devices(Table& table, const Measurement& measurement) {
  const DeviceValue* least = nullptr;
  const DeviceValue* most = nullptr;
  std::size_t count = 0;
  for (const DeviceValue& device : measurement.devices) {
    if (!device.value) continue;
    ++count;
    if (least == nullptr || *device.value < *least->value) least = &device;
    if (most == nullptr || *device.value > *most->value) most = &device;
  }
  if (count < 2) return;
  constexpr double alike = 0.002;  // less than repetitions of one device differ
  if (*most->value - *least->value <= alike * std::abs(*most->value)) {
    table.note(fmt::format("{} devices, all alike", count), reason_indent);
    return;
  }
  const Metric* metric = find_metric(measurement.metric);
  const bool low_is_slow = metric == nullptr || metric->better == Better::higher;
  table.note(fmt::format("{} devices: {}; slowest: device {}, fastest: device {}", count,
                         range_text(*least->value, *most->value, measurement.unit),
                         low_is_slow ? least->index : most->index, low_is_slow ? most->index : least->index),
             reason_indent);
}

// What the links allow, beside what was measured (harness/evidence/bus_limit.h); and what a derived figure is made of.
void add_basis(Table& table, const Measurement& measurement) {
  const nlohmann::json limit = measurement.evidence.value("expected_at_most", nlohmann::json());
  if (limit.is_object() && limit.value("gbps", nlohmann::json()).is_number() && measurement.value) {
    const double most = limit["gbps"].get<double>();
    const nlohmann::json formula = limit.value("formula", nlohmann::json());
    if (most > 0)
      table.note(fmt::format("expected at most {}{}; this is {} of it", quantity_text(most, "GB/s"),
                             formula.is_string() ? " = " + formula.get<std::string>() : "",
                             percent_text(*measurement.value / most)),
                 reason_indent);
  }
  const nlohmann::json derived = measurement.evidence.value("derived", nlohmann::json());
  if (derived.is_object() && derived.value("formula", nlohmann::json()).is_string())
    table.note("= " + derived["formula"].get<std::string>(), reason_indent);
}

// One row for all cases that share an outcome and its reason.
void add_without_value(Table& table, const std::string& metric, const Cases& cases) {
  std::vector<Cases> groups;
  for (const Measurement* measurement : cases) {
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const Cases& group) {
      return group.front()->status == measurement->status && group.front()->reason == measurement->reason;
    });
    if (known == groups.end()) {
      groups.push_back({measurement});
    } else {
      known->push_back(measurement);
    }
  }
  for (const Cases& same : groups) {
    const Measurement& first = *same.front();
    const std::string which = same.size() == 1 ? case_text(first) : fmt::format("{} cases", same.size());
    std::string word(to_string(first.status));
    std::replace(word.begin(), word.end(), '_', ' ');
    table.add({{with_case(metric, which)}, {word, Colour::bad}});
    if (!first.reason.empty()) table.note(first.reason, reason_indent);
  }
}

bool on_zeros(const Measurement& measurement) {
  const auto pattern = measurement.conditions.find("data_pattern");
  return pattern != measurement.conditions.end() && *pattern == "zeros";
}

// Runs on zeros are evidence about power; they stand beside the same shape on random data and never speak.
void add_zeros(Table& table, const Measurement& zeros, const Cases& random) {
  const auto same = std::find_if(random.begin(), random.end(), [&](const Measurement* measurement) {
    return measurement->conditions.value("shape", nlohmann::json()) ==
           zeros.conditions.value("shape", nlohmann::json());
  });
  std::string text = "on zeros: " + quantity_text(*zeros.value, zeros.unit);
  if (same != random.end() && *(*same)->value > 0) {
    text += fmt::format(", {} x the same on random data", number_text(*zeros.value / *(*same)->value));
  }
  table.note(text, reason_indent);
}

// ", 8 ranks" where all cases are of that many and their ids do not say so.
std::string ranks_text(const Cases& cases) {
  const nlohmann::json ranks = cases.front()->conditions.value("ranks", nlohmann::json());
  const bool same = std::all_of(cases.begin(), cases.end(), [&](const Measurement* measurement) {
    return measurement->conditions.value("ranks", nlohmann::json()) == ranks &&
           measurement->id.find("ranks:") == std::string::npos;
  });
  if (!same || !ranks.is_number()) return {};
  return fmt::format(", {:.0f} ranks", ranks.get<double>());
}

void add_metric(Table& table, const std::string& metric, const Cases& all) {
  Cases with_value;
  Cases zeros;
  for (const Measurement* measurement : all) (on_zeros(*measurement) ? zeros : with_value).push_back(measurement);
  const std::vector<Shown> shown = speaking(find_metric(metric), with_value);
  if (all.empty()) return;
  const bool one_row = with_value.size() == 1;
  if (!one_row) {
    const std::string heading = with_value.empty() ? metric : metric + ranks_text(with_value);
    table.note(shown.size() == with_value.size() ? heading : fmt::format("{} ({} cases)", heading, with_value.size()),
               1);
  }
  for (const Shown& row : shown) {
    const std::string label = label_of(row);
    add_value(table, *row.measurement, one_row ? with_case(metric, label) : "  " + label);
    add_devices(table, *row.measurement);
    if (&row == &shown.front()) add_basis(table, *row.measurement);
  }
  const auto unstable = with_value.size() - steady(with_value).size();
  if (shown.size() < with_value.size() && unstable > 0) {
    table.note(fmt::format("{} of the {} cases were unstable", unstable, with_value.size()), reason_indent);
  }
  for (const Measurement* measurement : zeros) add_zeros(table, *measurement, with_value);
}

// The algorithm bandwidth says the same as the bus bandwidth of the same case: their ratio depends on the ranks alone.
bool said_by_busbw(const Measurement& measurement, const Document& document) {
  const std::size_t end = measurement.metric.find(".algbw.");
  if (end == std::string::npos) return false;
  const std::string busbw = measurement.metric.substr(0, end) + ".busbw.gbps";
  return std::any_of(document.measurements.begin(), document.measurements.end(),
                     [&](const Measurement& other) { return other.metric == busbw && other.id == measurement.id; });
}

// The section on scaling has a row for each of them.
bool said_by_scaling(const Measurement& measurement, const Document& document) {
  if (!measurement.metric.starts_with("scaling.") || !measurement.usable()) return false;
  const std::string efficiency = measurement.metric.substr(0, measurement.metric.rfind('.')) + ".efficiency";
  return std::any_of(document.measurements.begin(), document.measurements.end(), [&](const Measurement& other) {
    return other.metric == efficiency && other.id == measurement.id && other.usable();
  });
}

using Reasons = std::vector<std::pair<std::string, std::vector<std::string>>>;  // reason, metrics; as they come

void add_reason(Reasons& reasons, const std::string& reason, const std::string& metric) {
  auto known = std::find_if(reasons.begin(), reasons.end(), [&](const auto& entry) { return entry.first == reason; });
  if (known == reasons.end()) known = reasons.insert(reasons.end(), {reason, {}});
  if (known->second.empty() || known->second.back() != metric) known->second.push_back(metric);
}

// One line a reason, with the metrics it holds for: a device that lacks six data types says so once.
std::string unsupported_text(const Reasons& by_reason, std::size_t width) {
  if (by_reason.empty()) return {};
  std::string out = " unsupported here\n";
  for (const auto& [reason, metrics] : by_reason) {
    out += labelled("  ", fmt::format("{}: {}", fmt::join(metrics, ", "), reason), reason_indent, width);
  }
  return out;
}

}  // namespace

std::string measurements_text(const Document& document, const ReportOptions& options) {
  if (document.measurements.empty()) return " No measurement is in this document.\n";
  Reasons unsupported;
  Table table({{"measured", false, 39, true},
               {"median", true, 16},
               {"min .. max", true, 20},
               {"cv", true, 7},
               {"95 % interval", true, 20}});
  for (const auto& [metric, cases] : by_metric(document)) {
    Cases with_value;
    Cases without;
    for (const Measurement* measurement : cases) {
      if (said_by_busbw(*measurement, document) || said_by_scaling(*measurement, document)) continue;
      if (measurement->value) {
        with_value.push_back(measurement);
      } else if (measurement->status == Outcome::unsupported) {
        add_reason(unsupported, measurement->reason, metric);
      } else {
        without.push_back(measurement);
      }
    }
    add_metric(table, metric, with_value);
    add_without_value(table, metric, without);
  }
  return (table.empty() ? "" : table.render(options.width, options.colour)) +
         unsupported_text(unsupported, options.width);
}

std::string findings_text(const Document& document, const ReportOptions& options) {
  std::string out;
  for (const Finding& finding : document.findings) {
    out += labelled("", finding.severity == "info" ? finding.text : finding.severity + ": " + finding.text, 1,
                    options.width);
    if (!finding.cause.empty()) out += labelled("   likely", finding.cause, 10, options.width);
    if (!finding.next_step.empty()) out += labelled("   ->", finding.next_step, 6, options.width);
  }
  return out;
}

}  // namespace claimcheck::report
