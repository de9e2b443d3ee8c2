// What figures over several nodes say of the network between them, where one log or several hold them.
#pragma once

#include <vector>

#include "harness/result/document.h"

namespace claimcheck::importing {

// For each collective: that its bus bandwidth falls from its fewest nodes (two at least) to its most, both at the
// largest size that they have in common; and that it is what TCP sockets carry.
std::vector<Finding> findings_between_nodes(const std::vector<Measurement>& measurements);

}  // namespace claimcheck::importing
