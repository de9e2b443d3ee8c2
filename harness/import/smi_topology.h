// nvidia-smi topo -m: which way GPUs and adapters reach each other; and topo -p2p: whether GPUs may.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/import/collected.h"
#include "harness/import/smi_gpus.h"

namespace claimcheck::importing {

class SmiTopology {
 public:
  SmiTopology(Collected& collected, SmiGpus& gpus) : collected_(collected), gpus_(gpus) {}
  bool line(std::string_view text);
  void end();

 private:
  using Row = std::vector<std::string>;
  bool heading(std::string_view text);
  bool row(std::string_view text);
  bool legend(std::string_view text);
  void finish();
  bool is_status() const;
  std::vector<int> gpu_columns() const;
  void status(const std::vector<int>& columns);
  void paths(const std::vector<int>& columns);
  int links_of(const std::vector<int>& columns, int gpu) const;
  void groups(const std::vector<int>& columns, const std::map<int, int>& links);
  void nearest_adapters(int gpu, const Row& cells);

  Collected& collected_;
  SmiGpus& gpus_;
  std::vector<std::string> columns_;  // "GPU0", "NIC3", "mlx5_0"
  std::map<int, Row> rows_;           // of GPUs, cells
  std::map<int, std::vector<std::string>> affinity_;
  std::map<std::string, std::string> adapters_;  // "NIC3" is mlx5_3
  bool cut_ = false;                             // a row has fewer cells than there are columns
  bool in_legend_ = false;
};

}  // namespace claimcheck::importing
