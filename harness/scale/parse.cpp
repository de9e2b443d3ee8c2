// The lists of the command line: numbers of nodes, message sizes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "harness/error.h"
#include "harness/scale/scale.h"

namespace claimcheck::scale {
namespace {

constexpr int most_nodes = 65536;
constexpr double most_bytes = 1e15;

std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    items.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return items;
}

std::optional<double> factor_of(std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (unit.empty() || unit == "b") return 1;
  const std::string_view prefixes = "kmgt";
  const auto power = prefixes.find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string rest = unit.substr(1);
  if (rest == "ib") return std::pow(1024.0, static_cast<double>(power) + 1);
  if (rest == "b") return std::pow(1000.0, static_cast<double>(power) + 1);
  return std::nullopt;
}

}  // namespace

std::vector<int> parse_nodes(std::string_view text) {
  std::vector<int> nodes;
  for (const std::string& item : items_of(text)) {
    int value = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
    if (error != std::errc() || end != item.data() + item.size() || value < 1 || value > most_nodes) {
      throw UserError(
          fmt::format("--nodes '{}': '{}' is not a number of nodes; expected whole numbers from 1 to {} with "
                      "commas between them, such as 1,8,64,512",
                      text, item, most_nodes));
    }
    nodes.push_back(value);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::vector<double> parse_sizes(std::string_view text) {
  std::vector<double> sizes;
  for (const std::string& item : items_of(text)) {
    double value = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
    const auto factor =
        error == std::errc() ? factor_of(std::string(end, item.data() + item.size())) : std::optional<double>();
    if (!factor || !(value * *factor >= 1) || value * *factor > most_bytes) {
      throw UserError(
          fmt::format("--bytes '{}': '{}' is not a message size; expected sizes with commas between them, such "
                      "as 1MiB,256MiB,8GiB",
                      text, item));
    }
    sizes.push_back(value * *factor);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace claimcheck::scale
