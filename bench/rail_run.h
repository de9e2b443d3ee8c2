// Rails between nodes: the first device of one node with the first of another, the second with the second, and so on,
// each two as a group of their own, one rail after the other and all at once.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/collective_run.h"
#include "bench/node_pairs.h"

namespace claimcheck::bench {

// Which nodes meet for their rails: each once, in one round; with an odd number of nodes one of them a second time, in
// a round of its own.
std::vector<std::vector<NodePair>> rail_rounds(int nodes);

class RailRun {
 public:
  // Called by all processes of the run.
  explicit RailRun(Setting& setting);

  // Every rail alone (its nodes do nothing else), then all at once. The same in all processes.
  Iteration iterate();
  double bytes() const { return bytes_; }                      // in each direction, of one operation
  double at_once_seconds() const { return at_once_seconds_; }  // of one operation of the slowest rail
  void verify();
  void spoil();

  // Called by all processes of the run.
  nlohmann::json evidence();
  nlohmann::json conditions() const;

 private:
  // One of this process.
  struct Rail {
    NodePair nodes;
    std::size_t round = 0;
    int number = 0;  // on its node
    std::size_t device = 0;
    std::unique_ptr<kernels::World> part;
    std::shared_ptr<kernels::Group> group;
    std::unique_ptr<CollectiveRun> run;
    std::vector<double> alone;  // seconds of an operation, of the latest iterations
    std::vector<double> at_once;
  };
  struct Slowest {
    double seconds = 0;  // of one operation
    double busy_seconds = 0;
    double host_seconds = 0;
    void take(const Iteration& iteration, int passes);
  };

  void find_rails();
  void connect(std::size_t round, const NodePair& nodes);
  int process_of(int node, int local_process) const;
  Slowest run_alone(std::size_t round, int number);
  Slowest run_at_once(std::size_t round);
  // The maxima over all processes.
  Slowest agreed(const Slowest& mine);

  Setting setting_;
  std::vector<kernels::Device*> devices_;  // of this process, that have a rail
  int processes_ = 0;                      // of each node, that have rails
  int rails_ = 0;                          // of each node
  std::vector<std::unique_ptr<Rail>> own_;
  std::vector<std::vector<NodePair>> rounds_;
  double bytes_ = 0;
  double at_once_seconds_ = 0;
};

}  // namespace claimcheck::bench
