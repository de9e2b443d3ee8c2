// What the parts of machine_of() share: the catalog's view of a node, and its network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/scale/machine.h"

namespace claimcheck::scale {

// What the catalog knows of all-reduce inside a node, for the rates nobody measured here. Adds the facts it used.
// False when it knows nothing.
bool add_catalog_node(const Catalog& catalog, const Platform* platform, const Accelerator* accelerator,
                      Machine& machine);

// The rate of a node's adapters and what a step between nodes costs; `gbit` is the user's. Leaves network_rate unset
// when neither says.
void add_network(const Platform* platform, std::optional<double> gbit, Machine& machine);

// The rate of matrix products of one rank, and the training steps measured. `accelerator` may be null.
void add_compute(const Document* document, const Catalog& catalog, const Accelerator* accelerator, bool host,
                 Machine& machine);

// A fact in GB/s from bytes a second.
Fact rate_fact(const std::string& name, double rate, const std::string& basis, bool estimate);

}  // namespace claimcheck::scale
