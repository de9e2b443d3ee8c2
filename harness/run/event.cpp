#include "harness/run/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "harness/result/json_text.h"
#include "harness/statistics.h"

namespace claimcheck {
namespace {

// The text of the JSON object that starts at the first character; empty when it does not end, or is nested deeper than
// anything a worker says: to write it out would take the stack.
std::string_view object_text(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_json_depth) return {};
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return text.substr(0, i + 1);
    }
  }
  return {};
}

std::string text_field(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    throw std::invalid_argument(fmt::format("\"{}\" is not a string", key));
  }
  return found->get<std::string>();
}

std::vector<double> samples_of(const nlohmann::json& object) {
  std::vector<double> samples;
  const auto found = object.find("samples");
  if (found == object.end()) return samples;
  if (!found->is_array()) throw std::invalid_argument("\"samples\" is not an array");
  for (const nlohmann::json& sample : *found) {
    // A worker writes a value that is not finite as null; it is judged below, with the others.
    samples.push_back(sample.is_number() ? sample.get<double>() : std::nan(""));
  }
  return samples;
}

void judge_samples(Measurement& measurement, const std::vector<double>& samples) {
  if (samples.empty()) {
    if (measurement.status != Outcome::ok) return;
    measurement.status = Outcome::failed;
    measurement.reason = "the benchmark ended without a sample";
    return;
  }
  for (const double sample : samples) {
    if (std::isfinite(sample) && sample > 0) continue;
    if (measurement.status == Outcome::ok) {
      measurement.status = Outcome::failed;
      measurement.reason = "a repetition gave a rate that is zero or not a number, so the timing cannot be trusted";
    }
    return;
  }
  // A wrong answer has no number.
  if (measurement.status == Outcome::wrong_result) return;
  measurement.statistics = summarise(samples);
  measurement.value = measurement.statistics->median;
  if (measurement.status == Outcome::ok && measurement.statistics->cv > unstable_cv) {
    measurement.status = Outcome::unstable;
    measurement.reason = fmt::format("repetitions vary by {:.0f} % (coefficient of variation; limit {:.0f} %)",
                                     100 * measurement.statistics->cv, 100 * unstable_cv);
  }
}

std::vector<DeviceValue> devices_of(const nlohmann::json& object) {
  std::vector<DeviceValue> devices;
  const auto found = object.find("devices");
  if (found == object.end() || !found->is_array()) return devices;
  for (const nlohmann::json& device : *found) {
    if (!device.is_object()) throw std::invalid_argument("\"devices\" holds something that is not an object");
    DeviceValue value;
    value.index = device.value("index", 0);
    value.name = device.value("name", std::string());
    const std::vector<double> samples = samples_of(device);
    bool finite = !samples.empty();
    for (const double sample : samples) finite = finite && std::isfinite(sample);
    if (finite) {
      value.value = median(samples);
      value.ci95 = median_interval_95(samples);
    }
    devices.push_back(std::move(value));
  }
  return devices;
}

}  // namespace

std::optional<nlohmann::json> parse_event(std::string_view line) {
  const std::size_t mark = line.find(event_mark);
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view text = line.substr(mark + event_mark.size());
  if (!text.starts_with('{')) return std::nullopt;
  text = object_text(text);
  nlohmann::json event = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (event.is_discarded() || !event.is_object()) return std::nullopt;
  const auto kind = event.find("event");
  if (kind == event.end() || !kind->is_string()) return std::nullopt;
  return event;
}

std::string text_of(const nlohmann::json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag_of(const nlohmann::json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_boolean() && found->get<bool>();
}

Measurement measurement_from_event(const nlohmann::json& event) {
  const auto found = event.find("measurement");
  if (found == event.end() || !found->is_object()) throw std::invalid_argument("\"measurement\" is not an object");
  const nlohmann::json& object = *found;
  Measurement measurement;
  measurement.id = text_field(object, "id");
  measurement.metric = text_field(object, "metric");
  measurement.unit = text_field(object, "unit");
  const std::string word = text_field(object, "status");
  const std::optional<Outcome> status = outcome_from(word);
  if (!status) throw std::invalid_argument(fmt::format("\"status\" is \"{}\"", word));
  measurement.status = *status;
  measurement.reason = object.value("reason", std::string());
  if (const auto conditions = object.find("conditions"); conditions != object.end() && conditions->is_object()) {
    measurement.conditions = *conditions;
  }
  if (const auto evidence = object.find("evidence"); evidence != object.end() && evidence->is_object()) {
    measurement.evidence = *evidence;
  }
  measurement.is_virtual = object.value("virtual", false);
  measurement.devices = devices_of(object);
  judge_samples(measurement, samples_of(object));
  if (measurement.status != Outcome::ok && measurement.reason.empty()) {
    measurement.reason = "the worker gave no reason";
  }
  return measurement;
}

// Of a line that grew too long what may be an event stays: its foreign text goes, with all events but the last.
void LineReader::shorten() {
  if (pending_.size() <= most_) return;
  if (!shortened_) ++dropped_;
  shortened_ = true;
  const std::size_t mark = pending_.rfind(event_mark);
  if (mark == std::string::npos) {
    pending_.erase(0, pending_.size() - std::min(pending_.size(), event_mark.size() - 1));
  } else if (pending_.size() - mark <= most_) {
    pending_.erase(0, mark);
  } else {
    pending_.clear();
  }
}

void LineReader::end_line(const std::function<void(std::string_view)>& sink) {
  if (!shortened_ || pending_.find(event_mark) != std::string::npos) sink(pending_);
  shortened_ = false;
  pending_.clear();
}

void LineReader::feed(std::string_view bytes, const std::function<void(std::string_view)>& sink) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    pending_ += bytes.substr(0, end);
    shorten();
    if (end == std::string_view::npos) return;
    end_line(sink);
    bytes.remove_prefix(end + 1);
  }
}

void LineReader::finish(const std::function<void(std::string_view)>& sink) {
  if (!pending_.empty()) end_line(sink);
}

}  // namespace claimcheck
