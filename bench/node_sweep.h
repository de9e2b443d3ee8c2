// All pairs of the nodes of a run: measured in rounds, all nodes at work at once, then the suspects alone; and the
// slowest pair kept connected, to be measured in earnest.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/collective_run.h"
#include "bench/node_pairs.h"

namespace claimcheck::bench {

// All ranks of two nodes as a group: an all-reduce of much and one of 8 bytes.
class NodeLink {
 public:
  // Called by the processes of both nodes at once.
  NodeLink(const Setting& setting, const NodePair& nodes, std::size_t bytes);

  // Of the slower process, the same in all of the pair.
  Iteration bandwidth();
  Iteration latency();
  double bus_bytes() const { return bandwidth_->bus_bytes(); }
  int latency_passes() const { return latency_->passes(); }

  void verify();
  void spoil() { bandwidth_->spoil(); }

  bool speaks() const { return part_->process() == 0; }
  nlohmann::json group_facts() const;
  nlohmann::json conditions() const { return bandwidth_->conditions(); }

 private:
  Iteration slower(Iteration mine);

  std::unique_ptr<kernels::World> part_;
  std::shared_ptr<kernels::Group> group_;
  std::unique_ptr<CollectiveRun> bandwidth_;
  std::unique_ptr<CollectiveRun> latency_;
};

// What one measurement of a pair gave; in all processes, also those that took no part.
struct PairReading {
  NodePair pair;
  double busbw_gbps = 0;
  double latency_us = 0;
  std::string failure;  // of a pair that cannot talk: then there are no figures
  nlohmann::json group = nlohmann::json::object();
};

class NodeSweep {
 public:
  // Measures; called by all processes of the run. Throws failed when a pair cannot talk even alone, with the verdict.
  explicit NodeSweep(Setting& setting);

  // One of the slowest pair, and of the one that answers last; others wait. The same in all processes.
  Iteration iterate();
  double latency_us() const { return latency_us_; }  // of the last iteration
  double bus_bytes() const { return bus_bytes_; }
  void verify();
  void spoil();

  nlohmann::json evidence() const;
  nlohmann::json conditions() const { return conditions_; }

 private:
  struct Found {
    Level level;
    Verdict verdict;
    double kept_at_once = 0;
  };

  std::vector<PairReading> measure(const std::vector<NodePair>& pairs);
  PairReading measure_alone(const NodePair& pair);
  PairReading measure_own(const NodePair& pair);
  std::vector<PairReading> share(const std::vector<NodePair>& pairs, const std::optional<PairReading>& mine);
  const PairReading& last_of(const NodePair& pair) const;
  const PairReading& shown(const Found& found, double rate, const PairReading& at_once) const;
  void refuse_failures() const;
  static NodePair slowest_of(const Verdict& verdict, const std::vector<PairRate>& rates);
  void connect();
  bool is_in(const NodePair& pair) const;
  std::string verdict_text() const;
  nlohmann::json odd_transports() const;

  Setting setting_;
  std::size_t bytes_;
  std::vector<PairReading> at_once_;
  std::vector<PairReading> alone_;
  Found bandwidth_;
  Found latency_;
  NodePair slowest_;
  NodePair latest_;
  std::unique_ptr<NodeLink> slowest_link_;  // null in processes of other nodes
  std::unique_ptr<NodeLink> latest_link_;   // null too where it is the same pair
  double bus_bytes_ = 0;
  double latency_us_ = 0;
  nlohmann::json conditions_;
};

// Throws unsupported where there is one node only.
void require_nodes(const Options& options);

// How much an all-reduce of a pair moves, as far as memory and the user allow.
std::size_t link_bytes(kernels::Platform& platform, const Options& options);

}  // namespace claimcheck::bench
