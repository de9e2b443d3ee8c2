// The main job: probe, plan, measure, judge, price, report.
#pragma once

#include "harness/catalog/catalog.h"
#include "harness/error.h"
#include "harness/run/settings.h"

namespace claimcheck {

// Prints the answer on stdout and the story on stderr, writes OUT/result.json. Throws UserError before anything was
// measured; afterwards what was measured is always written or, when the disk is full, printed.
ExitCode run(const RunSettings& settings, const Catalog& catalog);

}  // namespace claimcheck
