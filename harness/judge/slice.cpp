#include "harness/judge/slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

struct Profile {
  std::string card;
  double gigabytes = 0;
};

// "NVIDIA A40-2Q": the card, and gigabytes of the profile; none of "A100-SXM4-80GB".
std::optional<Profile> profile_of(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash + 2 >= name.size()) return std::nullopt;
  const std::string digits = name.substr(dash + 1, name.size() - dash - 2);
  if (!std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; }) ||
      std::string_view("QCBA").find(name.back()) == std::string_view::npos)
    return std::nullopt;
  return Profile{name.substr(0, dash), std::strtod(digits.c_str(), nullptr)};
}

}  // namespace

std::string share_of_slice(const Document& document, const Claim& claim, double claimed, double attained,
                           const Catalog& catalog) {
  if (!claim.metric.starts_with("memory.") && !claim.metric.starts_with("gemm.")) return {};
  const auto names = accelerators_seen(document);
  const auto profile = names && !names->empty() ? profile_of(names->front()) : std::nullopt;
  const Accelerator* card = profile ? accelerator_of_name(catalog, profile->card) : nullptr;
  if (card == nullptr || !card->memory_gb || !(*card->memory_gb > profile->gigabytes) || !(profile->gigabytes > 0))
    return {};
  const double share = profile->gigabytes / *card->memory_gb;
  return fmt::format(
      "{} holds {} of the {} GB of a whole {}: that share of {} is {}, and {} is {} of it. -> Judge a slice by its "
      "share; where slices take turns instead, its rate depends on the others.",
      names->front(), exact_text(profile->gigabytes), exact_text(*card->memory_gb), card->name,
      quantity_text(claimed, claim.unit), quantity_text(claimed * share, claim.unit),
      quantity_text(attained, claim.unit), share_text(attained / (claimed * share)));
}

}  // namespace claimcheck
