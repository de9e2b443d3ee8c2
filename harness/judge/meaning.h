// What a verdict means for the buyer: a claim that no machine of the kind reaches (marketing: keep the machine, argue
// the price) told apart from a machine that others of its kind outrun (return it). Pure arithmetic on verdicts.
//   Verdict::meaning = {"kind", "text", "of_claim": 0.80, "of_typical": 1.01, "typical": [low, high], "unit"}; the last
//   four where they are known. Kinds:
//     as_sold             met, and as fast as healthy machines
//     met                 met; nothing typical is known
//     machine_slow        slower than healthy machines; they would meet the claim, or it is met all the same
//     claim_too_high      not met, though this machine is as fast as healthy ones
//     slow_and_too_high   not met; healthy machines do not reach it either, and this one is slower than they
//     low_end             not met; healthy machines meet it, this one is at the low end of what they differ by
//     unknown             not met; nothing typical is known, so nobody can tell
//     not_as_sold         the machine itself denies it
//     open                inconclusive, not measured, implausible
#pragma once

#include <string>
#include <vector>

#include "harness/result/verdict.h"

namespace claimcheck {

// Sets `meaning` of each, claims from the typical values among them.
void add_meanings(std::vector<Verdict>& verdicts);

// The same for all of them together, in one sentence; empty when nothing was decided.
std::string meaning_of_all(const std::vector<Verdict>& verdicts);

}  // namespace claimcheck
