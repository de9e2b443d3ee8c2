// Claims on software: "PyTorch 2.4 preinstalled", held against the inventory of the probe (docs/probe.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

struct Software {
  std::string_view name;   // of identity.software.NAME
  std::string_view title;  // "PyTorch"
};

// What can be claimed.
const std::vector<Software>& known_software();

// "PyTorch" of "identity.software.pytorch".
std::string software_title(std::string_view metric);

// Of a claim on identity.software.NAME: == "present", or >=, <= or == a version, which one installation must meet. met,
// contradicted, or not_measured: a container does not show what the machine has, and not every file tells a version.
Verdict software_verdict(const Document& document, const Claim& claim);

}  // namespace claimcheck
