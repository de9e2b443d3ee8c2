// What importers find in files of other tools, on its way to a result document.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck::importing {

// Sorted by how much they spoil: a document that holds an invalid run is no evidence at all.
enum class Completeness { complete, excerpt, broken_off };

// Of one file, for the report on what was read.
struct FileReport {
  std::string name;
  std::vector<std::string> formats;  // that recognised something in it
  std::size_t lines = 0;
  std::size_t not_understood = 0;     // lines that no format took
  std::vector<std::size_t> examples;  // their numbers, the first 20
  std::vector<std::string> texts;     // of the first 5
  std::vector<std::string> partial;   // why it may not be all, one sentence each
  std::vector<std::string> notes;     // what a reader must know, one sentence each
};

// What the user says of a log that the log may not say.
struct Said {
  std::optional<int> ranks;
  std::optional<int> nodes;
};

class Collected {
 public:
  explicit Collected(Said said = {}) : said_(said) {}
  const Said& said() const { return said_; }

  // Several of one id, metric and conditions are samples of one measurement: the value is their median, and the worst
  // status counts. Past 20,000 different ones the rest is left out, and the file's report says so.
  void add(Measurement measurement);
  // The same for formats with millions of rows: `key` stands for id, metric and conditions, and only the first of a key
  // costs more than its look-up. `make` gives the measurement without value and status.
  void add(std::string_view key, const Outcome& status, std::optional<double> value, const std::string& reason,
           const std::function<Measurement()>& make);
  void add(Finding finding);  // once for each id and text

  // Facts of a device by its index, as the worker's --describe has them; later ones fill gaps, and differing ones are
  // kept as they were first.
  void device(int index, const nlohmann::json& facts);
  // What is known of them so far, by index.
  const std::map<int, nlohmann::json>& devices() const { return devices_; }
  // At a JSON pointer of `system`, where nothing is yet.
  void system(const std::string& pointer, const nlohmann::json& value);

  // Of everything that this file measured between GPUs: how NCCL sent it (evidence.group,
  // harness/evidence/transport.h).
  void transport(const nlohmann::json& group);
  // No measurement of this file counts: they were not of what they say.
  void invalid(const std::string& reason);

  void note(const std::string& text);     // of the file at work
  void partial(const std::string& text);  // likewise

  void begin_file(const std::string& name);
  void understood_by(std::string_view format);
  void not_understood(std::size_t line, std::string_view text);
  void line_read() { ++files_.back().lines; }

  const std::vector<FileReport>& files() const { return files_; }
  bool any() const {
    return !measurements_.empty() || !findings_.empty() || !devices_.empty() || !system_.empty() ||
           !transports_.empty();
  }
  // measurements, findings, system.devices and what else belongs to `system`. Ids are made unique.
  void into(Document& document) const;

 private:
  struct Kept {
    Measurement measurement;
    std::vector<double> samples;
    std::size_t file = 0;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  // Where a measurement like it is kept; unset when there is no more room.
  std::optional<std::size_t> place(Measurement measurement);
  void leave_out();
  void sample(Kept& kept, std::optional<double> value, Outcome status, const std::string& reason);

  Said said_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>
      keys_;  // of those that have one, in measurements_
  std::size_t samples_ = 0;
  std::map<std::string, std::size_t> index_;  // of measurements, by id, metric and conditions
  std::vector<Kept> measurements_;
  std::vector<Finding> findings_;
  std::map<int, nlohmann::json> devices_;
  nlohmann::json system_ = nlohmann::json::object();
  std::vector<FileReport> files_;
  std::map<std::size_t, nlohmann::json> transports_;  // by file
  std::map<std::size_t, std::string> invalid_;
  std::size_t left_out_ = 0;
};

}  // namespace claimcheck::importing
