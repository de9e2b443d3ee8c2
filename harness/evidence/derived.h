// What follows from measurements and the catalog together, written beside them: it needs no second measurement, and
// reports and claims read it like one.
#pragma once

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// training.mfu after each training.tflops: model TFLOPS of a device / the data sheet's dense peak of the type that was
// multiplied [PaLM, appendix B]; evidence.derived has the peak and the formula. None where the catalog has no peak.
// evidence.expected_at_most {gbps, formula, share} of each usable "*.busbw.gbps": harness/evidence/bus_limit.h.
// soak.*.retention after the segments of a soak: harness/evidence/soak.h.
// startup.*.seconds of system.startup, where it has them.
// Doing it again replaces what was derived before.
void derive(Document& document, const Catalog& catalog);

// Whether derive() made it.
bool is_derived(const Measurement& measurement);

}  // namespace claimcheck
