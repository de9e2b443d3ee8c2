#include "harness/catalog/names.h"

#include <algorithm>
#include <array>

namespace claimcheck {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "8x H100" and "8 × H100" count cards; "8 H100" might be a name.
std::string_view without_count(std::string_view name) {
  name = without_blanks(name);
  std::size_t at = 0;
  while (at < name.size() && is_digit(name[at])) ++at;
  if (at == 0) return name;
  std::string_view rest = without_blanks(name.substr(at));
  for (const std::string_view times : {"x", "X", "*", "\xC3\x97"}) {
    if (rest.starts_with(times) && rest.size() > times.size()) return without_blanks(rest.substr(times.size()));
  }
  return name;
}

// "80gb", "80g" and "80gib" are the memory size 80; a "gb" on its own says nothing more.
std::string without_memory_unit(std::string word) {
  for (const std::string_view unit : {"gib", "gb", "g"}) {
    if (word.ends_with(unit) &&
        std::all_of(word.begin(), word.end() - static_cast<std::ptrdiff_t>(unit.size()), is_digit)) {
      word.resize(word.size() - unit.size());
      break;
    }
  }
  return word;
}

struct ProviderName {
  std::string_view spelling;
  std::string_view provider;
};

constexpr std::array provider_names = {
    ProviderName{"aws", "aws"},
    ProviderName{"amazon", "aws"},
    ProviderName{"ec2", "aws"},
    ProviderName{"azure", "azure"},
    ProviderName{"microsoft", "azure"},
    ProviderName{"gcp", "gcp"},
    ProviderName{"google", "gcp"},
    ProviderName{"gce", "gcp"},
    ProviderName{"alibaba", "alibaba"},
    ProviderName{"aliyun", "alibaba"},
    ProviderName{"alicloud", "alibaba"},
    ProviderName{"tencent", "tencent"},
    ProviderName{"qcloud", "tencent"},
    ProviderName{"tencentcloud", "tencent"},
    ProviderName{"huawei", "huawei"},
    ProviderName{"huaweicloud", "huawei"},
    ProviderName{"huawei-otc", "huawei-otc"},
    ProviderName{"otc", "huawei-otc"},
    ProviderName{"oci", "oci"},
    ProviderName{"oracle", "oci"},
    ProviderName{"lambda", "lambda"},
    ProviderName{"lambdalabs", "lambda"},
    ProviderName{"runpod", "runpod"},
    ProviderName{"coreweave", "coreweave"},
    ProviderName{"crusoe", "crusoe"},
    ProviderName{"vast", "vast"},
    ProviderName{"vastai", "vast"},
};

// The provider in front of ':' or of the first blank, and what stands behind it.
std::pair<std::string, std::string_view> split_provider(std::string_view name) {
  const std::size_t end = name.find_first_of(": ");
  if (end == std::string_view::npos) return {"", name};
  const std::string first = lower_case(name.substr(0, end));
  const auto known = std::find_if(provider_names.begin(), provider_names.end(),
                                  [&](const ProviderName& entry) { return entry.spelling == first; });
  if (known != provider_names.end()) return {std::string(known->provider), without_blanks(name.substr(end + 1))};
  return name[end] == ':' ? std::pair{first, without_blanks(name.substr(end + 1))} : std::pair{std::string(), name};
}

}  // namespace

std::string joined_name(std::string_view name) {
  std::string joined = lower_case(name);
  joined.erase(std::remove_if(joined.begin(), joined.end(), [](char c) { return !is_word(c); }), joined.end());
  return joined;
}

std::vector<std::string> card_words(std::string_view name) {
  constexpr std::array<std::string_view, 13> empty_words = {"nvidia",   "tesla",  "geforce", "quadro", "amd",
                                                            "instinct", "google", "intel",   "habana", "aws",
                                                            "amazon",   "huawei", "gpu"};
  const std::string lower = lower_case(without_count(name));
  std::vector<std::string> words;
  for (std::size_t at = 0; at < lower.size();) {
    const auto end = std::find_if_not(lower.begin() + static_cast<std::ptrdiff_t>(at), lower.end(), is_word);
    std::string word = without_memory_unit(std::string(lower.begin() + static_cast<std::ptrdiff_t>(at), end));
    at = static_cast<std::size_t>(end - lower.begin()) + 1;
    if (word.empty() || std::find(empty_words.begin(), empty_words.end(), word) != empty_words.end()) continue;
    words.push_back(std::move(word));
  }
  return words;
}

std::pair<std::string, std::string> instance_name(std::string_view name) {
  name = without_blanks(name);
  const std::size_t slash = name.rfind('/');  // "projects/1/machineTypes/a3-highgpu-8g"
  if (slash != std::string_view::npos && slash + 1 < name.size()) name = name.substr(slash + 1);
  auto [provider, rest] = split_provider(name);
  std::string joined = joined_name(rest);
  for (const std::string_view prefix : {"standard", "ecs"}) {
    if (joined.starts_with(prefix) && joined.size() > prefix.size()) joined.erase(0, prefix.size());
  }
  return {provider, joined};
}

}  // namespace claimcheck
