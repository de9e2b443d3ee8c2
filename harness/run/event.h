// Events of a worker: one JSON object a line after the mark "@claimcheck ", with foreign text before, behind and
// around.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "harness/result/measurement.h"

namespace claimcheck {

inline constexpr std::string_view event_mark = "@claimcheck ";

// The event in a line of output; unset when there is none or it is not a JSON object with a string "event".
std::optional<nlohmann::json> parse_event(std::string_view line);

// A member of an event; empty or false when it is not there or of another type.
std::string text_of(const nlohmann::json& event, const char* key);
bool flag_of(const nlohmann::json& event, const char* key);

// The measurement of a `measurement` event: statistics are made from its samples here. Throws std::invalid_argument
// naming the field when the event is malformed. Zero, negative and non-finite samples are never a result: `failed`.
Measurement measurement_from_event(const nlohmann::json& event);

// Above this coefficient of variation over the repetitions a measurement is `unstable`.
inline constexpr double unstable_cv = 0.30;

// Cuts a byte stream into lines. Of a line longer than `most` bytes only an event at its end is kept: memory stays
// bounded whatever a worker prints.
class LineReader {
 public:
  explicit LineReader(std::size_t most = 4u << 20) : most_(most) {}
  void feed(std::string_view bytes, const std::function<void(std::string_view line)>& sink);
  void finish(const std::function<void(std::string_view line)>& sink);  // the last line without its end
  std::size_t dropped() const { return dropped_; }                      // lines that were too long

 private:
  void shorten();
  void end_line(const std::function<void(std::string_view line)>& sink);

  std::size_t most_;
  std::size_t dropped_ = 0;
  bool shortened_ = false;
  std::string pending_;
};

}  // namespace claimcheck
