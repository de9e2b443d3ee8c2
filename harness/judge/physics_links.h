// What links and adapters carry at most: PCIe to the host, NVLink between GPUs, adapters between nodes. Pure.
#pragma once

#include <optional>

#include "harness/judge/physics.h"

namespace claimcheck {

// Of host_link.*, p2p.* and network.* rates measured on GPUs or adapters; from the device's own width, generation and
// number of links, else the catalog's. Unset where neither knows, and for other metrics.
std::optional<Ceiling> link_ceiling(const Document& document, const Measurement& measurement, const Catalog& catalog);

}  // namespace claimcheck
