// What links carry one way, in GB/s, after line coding and before protocol: data sheets of NVLink; PCIe 3.0 x16 at 8
// GT/s with 128b/130b coding is 15.75, each generation twice the one before.
#pragma once

#include <cmath>

namespace claimcheck {

// Of one link: NVLink 1 20, NVLink 2 to 4 25, NVLink 5 50.
inline double nvlink_link_gbps(double version) { return version >= 5 ? 50 : version >= 2 ? 25 : 20; }

inline double pcie_gbps(double generation, double lanes) { return 15.75 * std::exp2(generation - 3) * lanes / 16; }

}  // namespace claimcheck
