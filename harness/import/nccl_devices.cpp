// The devices that a run of nccl-tests lists: facts of each, and whether they are of one kind.
#include <fmt/format.h>

#include "harness/import/nccl_run.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::size_t most_models = 8;  // named in a sentence

}  // namespace

void NcclRun::report_devices(Collected& collected) const {
  std::map<std::string, int> models;
  std::map<std::string, int> node_of;
  for (const auto& [number, rank] : ranks_) {
    ++models[rank.gpu];
    const int node = node_of.try_emplace(rank.host, static_cast<int>(node_of.size())).first->second;
    json facts = {{"node", node}};
    if (!rank.bus.empty()) facts["printed_bus"] = rank.bus;
    collected.device(number, {{"name", rank.gpu}, {"facts", facts}});
  }
  if (models.size() < 2) return;
  std::string names;
  std::size_t told = 0;
  for (const auto& [name, count] : models)
    if (++told <= most_models) names += fmt::format("{}{} x {}", told == 1 ? "" : " and ", count, name);
  if (told > most_models) names += fmt::format(" and {} other kinds", told - most_models);
  collected.add(Finding{"import.heterogeneous",
                        "warning",
                        fmt::format("The ranks are on different GPUs: {}.", names),
                        "Expect what the slower kind reaches, and test each kind alone before both together.",
                        {}});
}

}  // namespace claimcheck::importing
