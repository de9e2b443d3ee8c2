// Judging: what was promised against what was measured. Pure: documents and catalog in, verdicts out.
//
// Three comparisons that are never mixed; Verdict::claim.definition["comparison"] says which one a verdict is:
//   "claim"    what the user, the seller or the data sheet says (also identity: "has 8 x H100")
//   "typical"  what healthy machines of this kind reach with this method (catalog/expected)
//   "physics"  what the device cannot exceed; above it a measurement is implausible, never a pass
//   (harness/judge/physics.h)
// docs/judging.md has every rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/error.h"
#include "harness/result/document.h"

namespace claimcheck {

// The platform a document says it is from (platform.instance), nullptr when it says none or the catalog has no such
// row.
const Platform* platform_of(const Document& document, const Catalog& catalog);

// What the catalog row promises: accelerator model and count, vCPUs, RAM, local NVMe, the network between nodes and
// NVLink inside one (harness/judge/transport_verdict.h), and the data sheet of its accelerator per GPU (dense TFLOPS of
// each data type, memory bandwidth).
std::vector<Claim> platform_claims(const Platform& platform, const Catalog& catalog);

// One verdict a claim, in their order.
std::vector<Verdict> judge(const Document& document, const std::vector<Claim>& claims, const Catalog& catalog);

// Measured values against catalog/expected; only what was measured and has an expected value for this platform or
// accelerator under the same conditions.
std::vector<Verdict> expected_verdicts(const Document& document, const Catalog& catalog);

// All a run or `claimcheck judge` wants: the user's claims, then the platform's, then typical values.
std::vector<Verdict> all_verdicts(const Document& document, const std::vector<Claim>& user_claims,
                                  const Catalog& catalog);

// Attained / claimed of a numeric claim; 0.93 is 93 %. Unset for identity and for what was not measured.
std::optional<double> share_of_claim(const Verdict& verdict);

// 1 a not_met or contradicted; 4 with `strict` when anything is inconclusive, not measured or implausible or the run
// is not complete, without it when claims were asked for and none could be judged, or an answer was wrong; else 0.
ExitCode exit_code(const std::vector<Verdict>& verdicts, const Document& document, bool strict);

// The measurement that speaks for `metric` among those that meet `conditions` (a JSON object; values as numbers or
// strings): the metric table's `select` over usable ones; never a virtual-unless-all, estimated or zeros-pattern one.
// nullptr when there is none.
const Measurement* headline(const Document& document, std::string_view metric,
                            const nlohmann::json& conditions = nlohmann::json::object());

// One line for a list of verdicts: "Not what was sold: 2 of 19 claims are not met, 1 could not be measured."
std::string summary(const std::vector<Verdict>& verdicts);

// Verdicts as text, at most 100 columns: a table, then why and what to do next.
std::string verdicts_text(const std::vector<Verdict>& verdicts);

}  // namespace claimcheck
