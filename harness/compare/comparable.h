// Apples with apples: whether two documents, and two measurements in them, measured the same thing in the same way.
// Each answer is the reason why not, as a clause ("not the same data type: bf16, now fp8_e4m3"); empty when they may be
// compared. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck::compare {

// Kind of devices, and virtual against real. Documents that differ in these have nothing to compare.
std::string documents_differ(const Document& before, const Document& after);

// Method version, data type, sizes, ranks and whatever else the conditions fix. Conditions of effort
// (iterations, repetitions, passes, buffers, the checked share) and circumstances (ECC, links, file system) may
// differ; the latter are a cause, not another measurement. A condition that only one of both knows is not held against
// them, except the method.
std::string measurements_differ(const Measurement& before, const Measurement& after);

// Circumstances of two comparable measurements that differ, and may be why a figure moved: "ecc: off, now on".
std::vector<std::string> circumstances_that_differ(const Measurement& before, const Measurement& after);

// The same of the machine: driver, kernel, libraries, instance, number of devices, power limits, claimcheck itself.
std::vector<std::string> surroundings_that_differ(const Document& before, const Document& after);

// "8 x NVIDIA H100 80GB HBM3", in the order of first mention; "no device" where none is known.
std::string devices_text(const Document& document);

}  // namespace claimcheck::compare
