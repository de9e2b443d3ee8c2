// Cyclenerd's pricing.yml of Google Cloud: compute.instance.TYPE.cost.REGION.{hour, hour_spot, month_1y, month_3y}, US
// dollars. A commitment is the price of a month: hours are months / 730, nothing is paid upfront. `month` itself is
// left alone: for some families it has a discount for sustained use in it.
#include <fmt/format.h>
#include <yaml.h>

#include <chrono>
#include <string>
#include <vector>

#include "harness/catalog/import/formats.h"
#include "harness/catalog/import/json_input.h"
#include "harness/terminal_text.h"

namespace claimcheck::catalog_import {
namespace {

constexpr double hours_per_month = 730;  // how Google and this list convert
constexpr std::size_t max_depth = 16;

std::string date_of(long long seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

class Parser {
 public:
  explicit Parser(Input& input) : input_(input) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_input(&parser_, read, &input);
  }
  ~Parser() { yaml_parser_delete(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void next(yaml_event_t& event) {
    if (yaml_parser_parse(&parser_, &event) != 0) return;
    const std::size_t line = parser_.problem_mark.line > 0 ? parser_.problem_mark.line + 1 : parser_.mark.line + 1;
    input_.fail(line, fmt::format("not YAML: {}", sanitised_text(parser_.problem == nullptr ? "" : parser_.problem)));
  }

 private:
  static int read(void* input, unsigned char* to, std::size_t most, std::size_t* got) {
    *got = static_cast<Input*>(input)->bytes(reinterpret_cast<char*>(to), most);
    return 1;
  }

  Input& input_;
  yaml_parser_t parser_{};
};

class Event {
 public:
  explicit Event(Parser& parser) { parser.next(event_); }
  ~Event() { yaml_event_delete(&event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  yaml_event_type_t type() const { return event_.type; }
  std::size_t line() const { return event_.start_mark.line + 1; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(event_.data.scalar.value), event_.data.scalar.length};
  }

 private:
  yaml_event_t event_{};
};

class Table {
 public:
  Table(Input& input, const FileHints& hints, OfferSink& sink)
      : input_(input),
        sink_(sink),
        provider_(hints.provider.empty() ? "gcp" : provider_name(input, hints.provider)),
        parser_(input) {}

  void read() {
    for (;;) {
      const Event event(parser_);
      last_line_ = event.line();
      if (event.type() == YAML_STREAM_END_EVENT) break;
      take(event);
    }
    if (!input_.line_ended()) {
      input_.fail(last_line_, "the last line does not end with a line break, so the file may be cut short");
    }
    if (prices_ == 0) input_.fail(last_line_, "no price in it; expected compute.instance.TYPE.cost.REGION.hour");
  }

 private:
  struct Level {
    std::string key;
    bool mapping = true;
    bool has_key = false;  // the next scalar is its value
  };

  void take(const Event& event) {
    switch (event.type()) {
      case YAML_MAPPING_START_EVENT:
      case YAML_SEQUENCE_START_EVENT:
        if (levels_.size() >= max_depth) input_.fail(event.line(), fmt::format("nested deeper than {}", max_depth));
        levels_.push_back({"", event.type() == YAML_MAPPING_START_EVENT, false});
        break;
      case YAML_MAPPING_END_EVENT:
      case YAML_SEQUENCE_END_EVENT:
        levels_.pop_back();
        if (!levels_.empty()) levels_.back().has_key = false;
        break;
      case YAML_SCALAR_EVENT:
        scalar(event);
        break;
      case YAML_ALIAS_EVENT:
        input_.fail(event.line(), "an alias (*NAME); this list has none");
      default:
        break;
    }
  }

  void scalar(const Event& event) {
    if (levels_.empty()) input_.fail(event.line(), "a text at the top; expected compute: and below it the instances");
    Level& level = levels_.back();
    if (level.mapping && !level.has_key) {
      level.key = event.text();
      level.has_key = true;
      return;
    }
    value(event);
    level.has_key = false;
  }

  bool at(std::size_t depth, std::string_view key) const { return levels_[depth].key == key; }

  void value(const Event& event) {
    if (levels_.size() == 2 && at(0, "about") && at(1, "timestamp")) {
      const auto seconds = amount_of(event.text());
      if (!seconds || *seconds < 0 || *seconds > 4e9) {
        input_.fail(event.line(), "about.timestamp is no time in seconds since 1970");
      }
      sink_.dated(date_of(static_cast<long long>(*seconds)), event.line());
    }
    if (levels_.size() != 6 || !at(0, "compute") || !at(1, "instance") || !at(3, "cost")) return;
    const std::string& what = levels_[5].key;
    if (what == "hour") give(event, Term::on_demand, Payment::none, 1);
    if (what == "hour_spot") give(event, Term::spot, Payment::none, 1);
    if (what == "month_1y") give(event, Term::reserved_1y, Payment::no_upfront, hours_per_month);
    if (what == "month_3y") give(event, Term::reserved_3y, Payment::no_upfront, hours_per_month);
  }

  void give(const Event& event, Term term, Payment payment, double hours) {
    ++prices_;
    Offer offer;
    offer.provider = provider_;
    offer.instance = levels_[2].key;
    offer.region = levels_[4].key;
    offer.term = term;
    offer.payment = payment;
    offer.line = event.line();
    const auto amount = amount_of(event.text());
    if (!amount) return sink_.refused("the price is no number", offer);
    offer.amount = *amount / hours;
    sink_.offer(offer);
  }

  Input& input_;
  OfferSink& sink_;
  std::string provider_;
  Parser parser_;
  std::vector<Level> levels_;
  std::size_t prices_ = 0;
  std::size_t last_line_ = 1;
};

}  // namespace

void read_cyclenerd(Input& input, const FileHints& hints, OfferSink& sink) { Table(input, hints, sink).read(); }

}  // namespace claimcheck::catalog_import
