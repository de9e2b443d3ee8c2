// Results against a baseline: what became worse or better beyond noise, for each case of each metric and each device.
// Pure; docs/comparing.md is what a user reads of it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/change.h"
#include "harness/error.h"
#include "harness/result/document.h"

namespace claimcheck::compare {

struct Options {
  std::optional<double> min_effect;      // relative; unset: default_min_effect() of each metric
  std::optional<double> max_regression;  // relative loss that is still accepted
  std::vector<std::string> only;         // patterns of id, family or metric
  bool strict = false;                   // what stays open is no success
};

struct Named {
  std::string name;  // as the user calls the file
  Document document;
};

enum class State {
  worse,
  better,
  unchanged,
  unclear,       // more than noise is possible, but not certain
  lost,          // gave a right answer before, and none now
  regained,      // the other way round
  broken,        // no right answer before nor now
  missing,       // of the baseline, not measured now
  added,         // not in the baseline
  not_compared,  // measured in another way
};
std::string_view to_string(State state);

// Whether a loss is beyond --max-regression: by its whole 95 % interval, by a part of it, or not at all.
enum class Beyond { no, maybe, yes };

struct DeviceRow {
  int index = 0;
  State state = State::unchanged;  // worse, better, unchanged, unclear, missing
  double before = 0;
  std::optional<double> after;
  Change change;
  Beyond beyond = Beyond::no;
};

struct Row {
  std::string id;
  std::string metric;
  std::string unit;
  Better better = Better::higher;
  State state = State::unchanged;
  std::optional<Outcome> old_status;  // unset: not in that result
  std::optional<Outcome> new_status;
  std::optional<Reading> before;
  std::optional<Reading> after;
  Change change;
  double min_effect = 0;
  Beyond beyond = Beyond::no;       // of the row or the worst of its devices
  std::string reason;               // why lost, missing, unclear or not compared
  std::vector<std::string> causes;  // circumstances that differ
  std::vector<DeviceRow> devices;   // of several; all of them
};

struct Comparison {
  std::string name;
  std::string refused;                    // why the whole document was not compared; `rows` then say so
  std::vector<std::string> surroundings;  // what else is not as it was
  std::vector<Row> rows;                  // in the order of the baseline, added ones last
  std::size_t count(State state) const;
  bool comparable() const;  // anything at all
};

// The document's measurements against those of the baseline.
Comparison compare(const Named& baseline, const Named& result, const Options& options);

// One document that stands for several runs of one machine: of each case the median of the medians, with an interval
// that spans those of all runs, so that what varies from run to run counts as noise. One document: itself.
// Throws UserError when they are not of one kind of machine.
Named baseline_of(const std::vector<Named>& documents);

// not_met: a certain regression beyond the limit, or an answer lost. incomplete: nothing could be compared, or with
// `strict` anything stays open (missing, not compared, unclear, perhaps beyond the limit).
ExitCode exit_code(const std::vector<Comparison>& comparisons, const Options& options);

// Whether a row is among what `only` asks for; with no pattern all are.
bool is_asked(const Measurement& measurement, const std::vector<std::string>& only);

// One sentence: what matters most first.
std::string verdict_sentence(const Comparison& comparison, const Options& options);

struct Answer {
  std::string baseline;  // its name
  std::vector<Comparison> comparisons;
  bool is_virtual = false;
};

std::string answer_text(const Answer& answer, const Options& options, bool colour);
std::string answer_markdown(const Answer& answer, const Options& options);
// Lines for GitHub Actions: errors beyond the limit and answers lost, warnings for what else became worse or is open.
std::string answer_annotations(const Answer& answer, const Options& options);
nlohmann::json answer_json(const Answer& answer, const Options& options);

}  // namespace claimcheck::compare
