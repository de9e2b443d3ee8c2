// Which machine of the catalog an offer is of. Answers are remembered: lists have millions of rows and few machines.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/catalog/import/collect.h"

namespace claimcheck::catalog_import {

// A machine, or why there is none.
struct Resolved {
  std::uint32_t machine = 0;  // when `why` is empty
  bool refused = false;       // else only left out
  std::string why;            // one of a few, so that rows can be counted by it
  std::string detail;         // of this row
  double divisor = 1;         // the row's price over this is the machine's: chips of a slice
};

class MachineIndex {
 public:
  MachineIndex(const Catalog& catalog, std::vector<Machine>& machines);

  const Resolved& find(const Offer& offer);

 private:
  Resolved resolve(const Offer& offer);
  Resolved listed(const Offer& offer, const Platform& platform);
  Resolved unlisted(const Offer& offer, const std::string& provider);
  Resolved slice_of_tpu(const Offer& offer, std::string_view name);
  Resolved add(Machine machine, double divisor = 1);
  const std::vector<const Accelerator*>& accelerators(const Offer& offer);

  const Catalog& catalog_;
  std::vector<Machine>& machines_;
  std::unordered_map<std::string, const Platform*> platforms_;  // "aws:p548xlarge"; nullptr: several
  std::unordered_map<std::string, Resolved> known_;
  std::unordered_map<std::string, std::vector<const Accelerator*>> accelerators_;
  std::unordered_map<std::string, std::uint32_t> ids_;  // "aws:p5.48xlarge" -> machine
  std::string key_;
  Resolved last_;  // of a name too many to remember
};

struct TpuSlice {
  std::string generation;  // "v5e"
  double chips = 0;
};
// The slice of TPUs that `text` names, such as "v5litepod-8" or "tpu-v4-16"; unset when it names none.
std::optional<TpuSlice> tpu_slice(std::string_view text);

}  // namespace claimcheck::catalog_import
