// By what the machines of each provider can be told: one table for the probe, for docs/probe.md and for what
// `claimcheck catalog coverage` says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace claimcheck::probe {

// The file below /sys/class/dmi/id and how its text begins.
struct DmiSign {
  std::string_view file;
  std::string_view start;
};

struct Provider {
  std::string_view id;                        // the catalog's word
  std::vector<std::string_view> cloud_names;  // cloud-init's v1.cloud_name
  std::vector<DmiSign> dmi;
  std::string_view variable;  // of the environment that the provider gives its containers; empty: none
  std::string_view file;      // that only its machines have; empty: none
  bool metadata = false;      // has a service that tells the instance type (harness/probe/metadata.h)
  bool certain = true;        // false: what is written here is no documented mark, only what such machines have
};

const std::vector<Provider>& providers();

// nullptr when unknown.
const Provider* find_provider(std::string_view id);

}  // namespace claimcheck::probe
