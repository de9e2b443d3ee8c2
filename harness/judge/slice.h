// Shares of a card that are sold as GPUs: profiles of NVIDIA vGPU.
#pragma once

#include <string>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// "NVIDIA L4-3Q" holds 3 of 24 GB, 1/8 of the card: what that share of the claim is, and how much of it was attained.
// Empty for whole cards, and for claims that no share of the card is about.
std::string share_of_slice(const Document& document, const Claim& claim, double claimed, double attained,
                           const Catalog& catalog);

}  // namespace claimcheck
