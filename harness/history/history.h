// Many results as series: by kind of machine, by case of a metric. Pure; scan.h reads the folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/history/series.h"
#include "harness/result/document.h"

namespace claimcheck::history {

struct Stored {
  std::string file;
  Document document;
};

struct Run {
  std::string file;
  std::string started;
  double days = 0;  // since the first run of the machine
};

struct Series {
  std::string id;
  std::string metric;
  std::string unit;
  Better better = Better::higher;
  double min_effect = 0;
  std::vector<Point> points;           // by time; those measured as in the latest run
  std::size_t without_answer = 0;      // runs that measured it and got no usable value
  std::size_t measured_otherwise = 0;  // earlier runs with another method, size or data type
  std::string latest_without_answer;   // its reason, when the latest run that tried got none
  Course course;
};

// Results of one kind of machine: instance type and devices, virtual or real.
struct Machine {
  std::string name;
  bool is_virtual = false;
  std::vector<Run> runs;  // by time
  std::vector<Series> series;
};

struct Skipped {
  std::string file;
  std::string reason;
};

struct History {
  std::string directory;
  std::vector<Machine> machines;  // most runs first
  std::vector<Skipped> skipped;
};

struct Options {
  std::vector<std::string> metrics;  // patterns as of compare --only; empty: all
  std::optional<double> min_effect;
};

History history_of(const std::string& directory, std::vector<Stored> results, const Options& options);

// Series that moved: stepped or drifting, the largest loss first.
std::vector<const Series*> moved(const Machine& machine);

// "Steady" or what moved, in one sentence.
std::string verdict_sentence(const Machine& machine);
// "step 2026-11-12: -6.1 %", "drift: -2.0 % in 30 days", "steady", "too few runs".
std::string course_text(const Series& series);

// `all`: every series, not only those that moved.
std::string history_text(const History& history, bool all, bool colour);
std::string history_html(const History& history);
nlohmann::json history_json(const History& history);

}  // namespace claimcheck::history
