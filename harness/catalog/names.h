// How people, price lists and drivers spell one machine or one card. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace claimcheck {

// Letters and digits only, lower case: "Standard_ND96isr_H100_v5" -> "standardnd96isrh100v5".
std::string joined_name(std::string_view name);

// The words of a card's name without the maker, the brand, a count in front, and the unit of a memory size:
// "8x NVIDIA A100-SXM4-80GB" -> {"a100", "sxm4", "80"}.
std::vector<std::string> card_words(std::string_view name);

// Provider ("aws"; empty when the name does not say) and the joined name of the instance without what its provider puts
// in front of every one: "Amazon p5.48xlarge" -> {"aws", "p548xlarge"}, "Standard_NC6s_v3" -> {"", "nc6sv3"}.
std::pair<std::string, std::string> instance_name(std::string_view name);

}  // namespace claimcheck
