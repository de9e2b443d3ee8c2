// What a device cannot exceed, computed from facts it reports. Unknown facts give no ceiling, never a guess.
//   GPU arithmetic       units x FMA per clock and unit x 2 x max clock          (units: SMs, by compute capability);
//                        matrix multiply, tensor units, fp32 and fp64 vectors, training
//   GPU memory           2 x max memory clock x bus width / 8                    (double data rate)
//   host and peer links  PCIe generation and width, number and version of NVLinks (harness/judge/physics_links.h)
//   adapters             their line rate                                         (the same)
//   collectives of GPUs  the links of node and network (harness/evidence/bus_limit.h)
//   CPU matrix multiply  cores x 32 (fp64) or 64 (fp32) FLOP per clock x max clock: two 512-bit FMA units, the widest
//                        a server core has
// Source of the FMA rates: NVIDIA's architecture papers, cross-checked against data sheets (docs/judging.md).
#pragma once

#include <optional>
#include <string>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

struct Ceiling {
  double value = 0;   // in the metric's unit, of one device
  std::string basis;  // "132 SMs x 8192 FLOP per clock x 1980 MHz"
};

// Of the device the measurement's value is of. From device facts; else from the catalog row of the device, where its
// data sheet names the clock of its figure and the device's maximum clock is known, or for memory the printed figure
// with 3 % for clocks above it.
std::optional<Ceiling> ceiling(const Document& document, const Measurement& measurement, const Catalog& catalog);

// Set when `measurement` is above its ceiling by more than 1 % (clocks are read in whole steps): the sentence why it
// cannot be true.
std::optional<std::string> implausible(const Document& document, const Measurement& measurement,
                                       const Catalog& catalog);

}  // namespace claimcheck
