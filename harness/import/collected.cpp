#include "harness/import/collected.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/import/measured.h"
#include "harness/judge/findings.h"
#include "harness/statistics.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::size_t most_measurements = 20'000;
constexpr std::size_t most_all_samples = 1'000'000;
constexpr std::size_t most_samples = 1000;  // of one measurement: a median of more says no more
constexpr std::size_t most_findings = 1000;
constexpr std::size_t most_sentences = 50;
constexpr std::size_t most_examples = 20;
constexpr std::size_t most_texts = 5;

// From good to bad.
int gravity(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return 0;
    case Outcome::unsupported:
      return 1;
    case Outcome::unstable:
      return 2;
    case Outcome::timed_out:
      return 3;
    case Outcome::crashed:
    case Outcome::failed:
      return 4;
    case Outcome::wrong_result:
      return 5;
  }
  return 5;
}

void fill_gaps(json& known, const json& more) {
  for (const auto& [key, value] : more.items()) {
    if (value.is_null()) continue;
    if (!known.contains(key) || known[key].is_null()) {
      known[key] = value;
    } else if (known[key].is_object() && value.is_object()) {
      fill_gaps(known[key], value);
    }
  }
}

void say_once(std::vector<std::string>& sentences, const std::string& text) {
  if (sentences.size() < most_sentences && std::find(sentences.begin(), sentences.end(), text) == sentences.end())
    sentences.push_back(text);
}

// What a document has to hold whatever a log says: there is a name, figures are finite, and what has none is not ok and
// says why.
void settle(Measurement& measurement) {
  if (measurement.id.empty()) measurement.id = measurement.metric;
  const bool finite = !measurement.value || std::isfinite(*measurement.value);
  if (!finite) {
    measurement.value.reset();
    measurement.statistics.reset();
  }
  for (DeviceValue& device : measurement.devices)
    if (device.value && !std::isfinite(*device.value)) device.value.reset();
  if (measurement.status == Outcome::ok && !measurement.value) {
    measurement.status = Outcome::failed;
    measurement.reason = finite ? "the log holds no figure" : "what the log says is beyond all numbers";
  }
  if (measurement.status != Outcome::ok && measurement.reason.empty()) measurement.reason = "the log does not say why";
}

}  // namespace

std::optional<std::size_t> Collected::place(Measurement measurement) {
  const std::string key = measurement.id + '\n' + measurement.metric + '\n' +
                          measurement.conditions.dump(-1, ' ', true, json::error_handler_t::replace);
  const auto known = index_.find(key);
  if (known != index_.end()) return known->second;
  if (measurements_.size() >= most_measurements) {
    leave_out();
    return std::nullopt;
  }
  index_.emplace(key, measurements_.size());
  measurements_.push_back({std::move(measurement), {}, files_.size() - 1});
  return measurements_.size() - 1;
}

void Collected::leave_out() {
  if (left_out_++ == 0)
    partial(fmt::format("more than {} different measurements: the rest is left out", most_measurements));
}

void Collected::sample(Kept& kept, std::optional<double> value, Outcome status, const std::string& reason) {
  if (value && kept.samples.size() < most_samples && (kept.samples.empty() || samples_ < most_all_samples)) {
    kept.samples.push_back(*value);
    ++samples_;
  }
  if (gravity(status) > gravity(kept.measurement.status)) {
    kept.measurement.status = status;
    kept.measurement.reason = reason;
  }
}

void Collected::add(Measurement measurement) {
  const std::optional<double> value = measurement.value;
  const Outcome status = measurement.status;
  const std::string reason = measurement.reason;
  if (const auto at = place(std::move(measurement))) sample(measurements_[*at], value, status, reason);
}

void Collected::add(std::string_view key, const Outcome& status, std::optional<double> value, const std::string& reason,
                    const std::function<Measurement()>& make) {
  auto known = keys_.find(key);
  if (known == keys_.end()) {
    if (keys_.size() >= most_measurements) {
      leave_out();
      return;
    }
    Measurement made = make();
    made.value = value;
    made.status = status;
    made.reason = reason;
    const auto at = place(std::move(made));
    if (!at) return;
    known = keys_.emplace(key, *at).first;
  }
  sample(measurements_[known->second], value, status, reason);
}

void Collected::add(Finding finding) {
  // The judge puts its own of these families in the place of old ones; what a log says cannot be found again.
  if (is_measured_finding(finding)) finding.id = "import." + finding.id;
  const bool known = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& other) {
    return other.id == finding.id && other.text == finding.text;
  });
  if (!known && findings_.size() < most_findings) findings_.push_back(std::move(finding));
}

void Collected::device(int index, const json& facts) {
  if (index < 0 || index >= 4096) return;
  // What a driver calls a GPU that it does not know, and nvidia-smi one before its release.
  if (const auto name = facts.find("name"); name != facts.end() && name->is_string() && !files_.empty() &&
                                            name->get_ref<const std::string&>().ends_with("Graphics Device"))
    note(fmt::format("\"{}\" is no product: the driver does not know the GPU, so nothing can be looked up by its name",
                     name->get_ref<const std::string&>()));
  for (const std::string_view board : {"K80", "MI250", "Tesla M60", "Tesla K10", "GRID K2"})
    if (const std::string name = text_of(facts, "name"); !files_.empty() && name.find(board) != std::string::npos)
      note(fmt::format("\"{}\" is one of the two dies of its board, with half of what a data sheet says of a board",
                       name));
  json& known = devices_.try_emplace(index, json{{"index", index}}).first->second;
  fill_gaps(known, facts);
}

void Collected::system(const std::string& pointer, const json& value) {
  const json::json_pointer place(pointer);
  if (!system_.contains(place) && !value.is_null()) system_[place] = value;
}

void Collected::transport(const json& group) { fill_gaps(transports_[files_.size() - 1], group); }

void Collected::invalid(const std::string& reason) { invalid_.emplace(files_.size() - 1, reason); }

void Collected::note(const std::string& text) { say_once(files_.back().notes, text); }
void Collected::partial(const std::string& text) { say_once(files_.back().partial, text); }

void Collected::begin_file(const std::string& name) {
  files_.emplace_back();
  files_.back().name = name;
}

void Collected::understood_by(std::string_view format) {
  auto& formats = files_.back().formats;
  if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.emplace_back(format);
}

void Collected::not_understood(std::size_t line, std::string_view text) {
  FileReport& file = files_.back();
  ++file.not_understood;
  if (file.examples.size() < most_examples) file.examples.push_back(line);
  if (file.texts.size() < most_texts) file.texts.emplace_back(text.substr(0, 120));
}

void Collected::into(Document& document) const {
  std::map<std::string, int> used;
  for (const Kept& kept : measurements_) {
    Measurement measurement = kept.measurement;
    if (!kept.samples.empty()) {
      measurement.statistics = summarise(kept.samples);
      measurement.value = measurement.statistics->median;
    }
    if (const auto group = transports_.find(kept.file);
        group != transports_.end() && measurement.metric.find("busbw") != std::string::npos)
      measurement.evidence["group"] = group->second;
    if (const auto reason = invalid_.find(kept.file); reason != invalid_.end()) {
      measurement.status = Outcome::failed;
      measurement.reason = reason->second;
      measurement.value.reset();
      measurement.statistics.reset();
    }
    if (measurement.status == Outcome::wrong_result) {  // a wrong answer has no number
      measurement.value.reset();
      measurement.statistics.reset();
    }
    settle(measurement);
    const int count = ++used[measurement.metric + ' ' + measurement.id];
    if (count > 1) measurement.id += fmt::format("/{}", count);
    document.measurements.push_back(std::move(measurement));
  }
  document.findings.insert(document.findings.end(), findings_.begin(), findings_.end());
  json devices = json::array();
  for (const auto& [index, facts] : devices_) devices.push_back(facts);
  document.system["devices"] = devices;
  fill_gaps(document.system, system_);
}

}  // namespace claimcheck::importing
