// perftest between the first processes of two nodes, one port of their adapters at a time: a server on one, a client on
// the other, both children of the worker.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/node_pairs.h"
#include "bench/perftest.h"

namespace claimcheck::bench {

class NicRun {
 public:
  // The active ports whose fabric is one of `fabrics`; the same number on every node, or as many as the node with the
  // fewest has. Throws unsupported where a node has none. Called by all processes of the run.
  NicRun(Setting& setting, const std::vector<std::string>& fabrics);

  // Writes of every port; reads and latency the first time only, since they are not the headline. Throws failed, in all
  // processes, with every port that could not be measured.
  Iteration iterate();
  void verify() const;  // no figure is missing or above the line rate
  void spoil();

  double slowest_write_gbps() const;
  double slowest_read_gbps() const;
  double largest_latency_us() const;
  nlohmann::json evidence() const;
  nlohmann::json conditions() const;

 private:
  // The n-th port of two nodes.
  struct Link {
    NodePair nodes;
    std::size_t round = 0;
    RdmaPort first;
    RdmaPort second;
    double write_gbps = 0;
    double read_gbps = 0;
    double latency_us = 0;
  };

  void find_links(const std::vector<std::vector<RdmaPort>>& ports_of_node, std::size_t count);
  void measure(RdmaTest test, std::size_t round, std::size_t number, double Link::*figure);
  std::optional<std::size_t> own_link(std::size_t round, std::size_t number) const;
  void take(const nlohmann::json& outcome, double Link::*figure);
  nlohmann::json attempt(RdmaTest test, const Link& link);
  double as_client(RdmaTest test, const Link& link);

  Setting setting_;
  std::vector<std::string> hosts_;  // of each node
  std::vector<Link> links_;         // those of a round and a number are measured at the same time
  std::size_t rounds_ = 0;
  std::size_t ports_ = 0;  // of each node
  bool first_time_ = true;
  std::map<std::size_t, std::string> failures_;  // of the last iteration, by position of the link
  std::string unsupported_;
};

}  // namespace claimcheck::bench
