// One run of nccl-tests: who took part, what was asked for, and its rows. Says what the numbers mean: which collective,
// how many ranks, on how many nodes, and whether they can be what they claim.
//
// Formulas are those of nccl_ranks.h. The factor is taken from size and time: old versions print an algorithm bandwidth
// that holds it already.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/import/collected.h"
#include "harness/import/nccl_ranks.h"
#include "harness/import/nccl_table.h"

namespace claimcheck::importing {

struct NcclRank {
  std::string host;
  int device = 0;
  std::string bus;
  std::string gpu;
  bool operator==(const NcclRank&) const = default;
};

class NcclRun {
 public:
  void parameters(std::string_view line);     // "# nThread 1 nGpus 8 minBytes ..."
  void collective(std::string_view program);  // "all_reduce_perf"
  void method(std::string name) { method_ = std::move(name); }
  // False when the rank was there before: another run writes into the same file.
  bool rank(int number, const NcclRank& rank);
  void row(const NcclRow& row, bool counts_wrong, std::size_t line);
  void elided() { elided_ = true; }
  void header() { header_ = true; }
  void edited() { edited_ = true; }
  void trailer() { trailer_ = true; }
  void bounds() { bounds_ = true; }  // "Out of bounds values : 0 OK"
  void average(double busbw) { average_ = busbw; }
  void failure(const std::string& text) { failure_ = text; }

  // The same as those of a run before: their devices are collected.
  void ranks_are_known() { ranks_known_ = true; }

  const std::map<int, NcclRank>& ranks() const { return ranks_; }
  bool any_rows() const { return !rows_.empty(); }
  bool any_ranks() const { return !ranks_.empty(); }
  bool started() const { return header_ || has_parameters_ || any_ranks() || !failure_.empty(); }
  bool has_parameters() const { return has_parameters_; }
  bool ended() const { return trailer_; }

  // Measurements, findings and remarks of the whole run. `asked_ranks`, `asked_nodes`: what the user says.
  void report(Collected& collected, std::optional<int> asked_ranks, std::optional<int> asked_nodes) const;

 private:
  struct Half {
    double time_us = 0;
    std::optional<double> busbw;
    std::optional<double> algbw;
    double wrong = 0;
    bool checked = false;
  };
  struct Row {
    double bytes = 0;
    std::string type;
    std::string op;
    std::optional<double> count;
    std::optional<Half> out;
    std::optional<Half> in;
    bool two_halves = true;
    std::optional<double> nodes;
    std::size_t line = 0;
  };
  struct Meaning {
    std::string family;  // "allreduce", "collective" when it cannot be told
    std::optional<int> ranks;
    bool refuted = false;  // the user says another number
    std::optional<int> nodes;
  };

  std::optional<double> factor_at(const Row& row) const;
  const Row* largest() const;
  Meaning meaning(Collected& collected, std::optional<int> asked_ranks, std::optional<int> asked_nodes) const;
  std::string family_by_factor(const Row& row, double factor, Collected& collected) const;
  std::optional<RanksFit> fit(const std::string& family, const Row& row, double factor) const;
  void count_ranks(Collected& collected, Meaning& meaning, std::optional<int> asked_ranks) const;
  std::optional<int> ranks_of(const Row& row, const Meaning& meaning) const;
  std::string key_of(const Meaning& meaning) const;
  Measurement described(const Row& row, const Half& half, bool in_place, const Meaning& meaning,
                        std::string_view quantity) const;
  // `key` begins with key_of() and comes back as it was.
  void report_row(Collected& collected, const Row& row, const Meaning& meaning, std::string& key) const;
  void report_half(Collected& collected, const Row& row, const Half& half, bool in_place, const Meaning& meaning,
                   std::string& key) const;
  void check_completeness(Collected& collected) const;
  void check_correctness(Collected& collected) const;
  void check_sizes(Collected& collected) const;
  void check_average(Collected& collected) const;
  void report_devices(Collected& collected) const;

  std::string family_;
  std::string method_ = "nccl-tests";
  std::map<int, NcclRank> ranks_;
  std::vector<Row> rows_;
  double smallest_ = std::numeric_limits<double>::infinity();  // bytes of a row, 0 left out
  std::optional<double> min_bytes_, max_bytes_, iterations_, average_;
  bool has_parameters_ = false, header_ = false, trailer_ = false, bounds_ = false, elided_ = false, edited_ = false;
  bool validated_ = true;
  bool ranks_known_ = false;
  std::string failure_;
};

}  // namespace claimcheck::importing
