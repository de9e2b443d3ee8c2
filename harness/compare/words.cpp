#include "harness/compare/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/report/quantity.h"

namespace claimcheck::compare {
namespace {

std::string plural(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::size_t beyond(const Comparison& comparison, Beyond kind) {
  return static_cast<std::size_t>(std::count_if(comparison.rows.begin(), comparison.rows.end(),
                                                [&](const Row& row) { return row.beyond == kind; }));
}

// What could be compared at all.
std::size_t compared(const Comparison& comparison) {
  return comparison.count(State::worse) + comparison.count(State::better) + comparison.count(State::unchanged) +
         comparison.count(State::unclear) + comparison.count(State::lost) + comparison.count(State::regained);
}

std::string worst_text(const Comparison& comparison) {
  const Row& worst = *sorted_rows(comparison, State::worse).front();
  const DeviceRow* device = nullptr;
  for (const DeviceRow& one : worst.devices) {
    if (one.state == State::worse && one.change.loss > worst.change.loss &&
        (device == nullptr || one.change.loss > device->change.loss)) {
      device = &one;
    }
  }
  const double relative = device == nullptr ? worst.change.relative : device->change.relative;
  return fmt::format("{}{} by {}", row_name(worst),
                     device == nullptr ? "" : fmt::format(" on device {}", device->index), change_text(relative));
}

std::string limit_sentence(const Comparison& comparison, const Options& options) {
  if (!options.max_regression) return {};
  const std::string limit = percent_text(*options.max_regression);
  const std::size_t sure = beyond(comparison, Beyond::yes);
  const std::size_t perhaps = beyond(comparison, Beyond::maybe);
  std::string text = sure == 0 ? fmt::format(" None is beyond the limit of {} for sure", limit)
                               : fmt::format(" {} beyond the limit of {}", plural(sure, "is", "are"), limit);
  if (perhaps > 0) text += fmt::format("; of {} the noise does not exclude it", perhaps);
  return text + ".";
}

}  // namespace

std::string row_name(const Row& row) {
  Measurement measurement;
  measurement.id = row.id;
  const std::string which = case_text(measurement);
  return which.empty() ? row.metric : row.metric + ", " + which;
}

std::string change_text(double relative) {
  if (!std::isfinite(relative)) return "?";
  if (relative >= 2) return fmt::format("x {}", number_text(1 + relative));
  return fmt::format("{:+.1f} %", 100 * relative);
}

std::string interval_text(const Change& change) {
  if (!change.relative_interval) return {};
  return fmt::format("{:+.1f} .. {:+.1f} %", 100 * change.relative_interval->first,
                     100 * change.relative_interval->second);
}

std::string limit_text(Beyond beyond) {
  switch (beyond) {
    case Beyond::yes:
      return "beyond";
    case Beyond::maybe:
      return "perhaps";
    default:
      return {};
  }
}

std::string devices_sentence(const Row& row) {
  std::vector<const DeviceRow*> moved;
  for (const DeviceRow& device : row.devices) {
    const bool counts = device.state == State::worse || device.state == State::better;
    if ((counts && device.state == row.state) || device.state == State::missing) moved.push_back(&device);
  }
  if (moved.empty()) return {};
  const bool alike =
      moved.size() == row.devices.size() && std::all_of(moved.begin(), moved.end(), [&](const DeviceRow* device) {
        return device->after && std::abs(device->change.loss - row.change.loss) <= row.min_effect;
      });
  if (alike) return fmt::format("all {} devices alike", moved.size());
  std::stable_sort(moved.begin(), moved.end(), [](const DeviceRow* a, const DeviceRow* b) {
    return std::abs(a->change.loss) > std::abs(b->change.loss);
  });
  std::string text;
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(most, moved.size()); ++i) {
    text += fmt::format("{}device {} {}", i == 0 ? "" : ", ", moved[i]->index,
                        moved[i]->after ? change_text(moved[i]->change.relative) : "has no value now");
  }
  return moved.size() > most ? text + fmt::format(" and {} more", moved.size() - most) : text;
}

double worst_loss(const Row& row) {
  double loss = row.change.loss;
  for (const DeviceRow& device : row.devices) {
    if (device.state == State::worse) loss = std::max(loss, device.change.loss);
  }
  return loss;
}

std::vector<const Row*> sorted_rows(const Comparison& comparison, State state) {
  std::vector<const Row*> rows;
  for (const Row& row : comparison.rows) {
    if (row.state == state) rows.push_back(&row);
  }
  if (state == State::worse) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row* a, const Row* b) { return worst_loss(*a) > worst_loss(*b); });
  } else if (state == State::better) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row* a, const Row* b) { return a->change.loss < b->change.loss; });
  }
  return rows;
}

std::vector<std::pair<std::string, std::vector<std::string>>> by_reason(const Comparison& comparison, State state) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Row& row : comparison.rows) {
    if (row.state != state) continue;
    const auto known =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == row.reason; });
    if (known == groups.end()) {
      groups.push_back({row.reason, {row_name(row)}});
    } else {
      known->second.push_back(row_name(row));
    }
  }
  return groups;
}

std::string counts_text(const Comparison& comparison) {
  static const std::pair<State, const char*> words[] = {
      {State::unchanged, "unchanged"},
      {State::unclear, "unclear"},
      {State::regained, "right again"},
      {State::missing, "not measured now"},
      {State::added, "new"},
      {State::broken, "without an answer before and now"},
      {State::not_compared, "measured in another way, so not compared"}};
  std::string text;
  for (const auto& [state, word] : words) {
    const std::size_t count = comparison.count(state);
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  }
  return text;
}

std::string verdict_sentence(const Comparison& comparison, const Options& options) {
  if (!comparison.comparable()) {
    if (!comparison.refused.empty()) return fmt::format("Nothing was compared: {}.", comparison.refused);
    if (comparison.rows.empty()) return "Nothing was compared: neither result holds a measurement that was asked for.";
    return fmt::format("Nothing could be compared: {}.", counts_text(comparison));
  }
  const std::size_t lost = comparison.count(State::lost);
  const std::size_t worse = comparison.count(State::worse);
  std::string text;
  if (lost > 0) {
    text = fmt::format("{} no right answer any more. ", plural(lost, "measurement gives", "measurements give"));
  }
  if (worse > 0) {
    text += fmt::format("{} of {} became worse beyond noise, most of all {}.", worse, compared(comparison),
                        worst_text(comparison));
  } else {
    const std::size_t better = comparison.count(State::better);
    text += fmt::format("None of {} became worse beyond noise{}.", plural(compared(comparison), "figure", "figures"),
                        better == 0 ? "" : fmt::format(", {} better", better));
  }
  return text + limit_sentence(comparison, options);
}

}  // namespace claimcheck::compare
