// A seller's offer as a file: what is promised, for how much. It becomes claims as --claim takes them, and the instance
// and price of a run. results-schema/schemas/offer.schema.json has the fields; all are optional:
//   seller, date, source            told with every claim
//   instance, price, currency, term as the options of the same names
//   accelerator, accelerators, accelerator_memory_gb, vcpus, ram_gib, local_nvme_gb       what the machine is
//   tflops {"bf16": 989}, sparse (the figures count structured sparsity), memory_bandwidth_gbps   arithmetic peaks of
//   one
//                                   GPU, judged as those of a data sheet (docs/judging.md)
//   fabric ("EFA", "InfiniBand", "RoCE")        what collectives between nodes go over
//   network_gbit_s, network_adapters            of a node, one way; judged by adapter
//   claims                          further ones, as --claim takes them
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace claimcheck {

struct Offer {
  std::string instance;
  std::string price;
  std::string currency;
  std::string term;
  std::vector<std::string> claims;
};

// Throws UserError naming file, place, what was expected and the nearest field.
Offer read_offer(const std::filesystem::path& file);

}  // namespace claimcheck
