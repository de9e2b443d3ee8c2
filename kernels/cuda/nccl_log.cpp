#include "kernels/cuda/nccl_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <vector>

namespace claimcheck::kernels::cuda {

namespace {

// What follows `word` in a line, or nothing.
std::optional<std::string_view> after(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + word.size());
}

std::string_view first_word(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_first_of(" \t\r", begin) - begin);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  return text;
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Newer versions write names, older ones numbers: "Algo 1 proto 2". Order of both: nccl_device or graph headers of
// NCCL, unchanged since 2.4 but for what was added behind.
template <std::size_t Count>
std::string name_or_number(std::string_view word, const std::array<std::string_view, Count>& names) {
  const auto number = integer(word);
  if (!number) return lower(word);
  return *number >= 0 && *number < static_cast<std::int64_t>(Count)
             ? std::string(names[static_cast<std::size_t>(*number)])
             : std::string(word);
}

std::string algorithm_name(std::string_view word) {
  constexpr std::array<std::string_view, 7> names = {"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                                     "nvls_tree", "pat"};
  std::string name = name_or_number(word, names);
  if (name == "nvlstree") return "nvls_tree";
  if (name == "collnetdirect") return "collnet_direct";
  if (name == "collnetchain") return "collnet_chain";
  return name;
}

std::string protocol_name(std::string_view word) {
  constexpr std::array<std::string_view, 3> names = {"ll", "ll128", "simple"};
  return name_or_number(word, names);
}

// "NET/IB/0/GDRDMA" and "NET/IB/3/GDRDMA" are one transport: the adapter's number, and "(Shared)" ones, go.
std::string transport_name(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    const std::size_t slash = text.find('/');
    std::string_view part = text.substr(0, slash);
    part = part.substr(0, part.find_first_of("(["));
    if (!integer(part) && !part.empty()) name += (name.empty() ? "" : "/") + std::string(part);
    if (slash == std::string_view::npos) break;
    text.remove_prefix(slash + 1);
  }
  return name;
}

Fact known(const std::string& text) { return text.empty() ? Fact() : Fact(text); }

}  // namespace

void NcclLog::read(std::string_view text) {
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    line(rest_.empty() ? text.substr(0, end) : std::string_view(rest_.append(text.substr(0, end))));
    rest_.clear();
    text.remove_prefix(end + 1);
  }
  rest_.append(text);
}

void NcclLog::line(std::string_view text) {
  const auto info = after(text, "NCCL INFO ");
  if (!info) return;
  channel(*info);
  tuning(*info);
  network(*info);
  support(*info);
  channels(*info);
}

Facts NcclLog::facts() const {
  Facts result;
  const bool chosen = !algorithm_.empty();
  result.emplace_back("algorithm", known(algorithm_));
  result.emplace_back("protocol", known(protocol_));
  result.emplace_back("algorithm_bytes", chosen ? Fact(bytes_) : Fact());
  result.emplace_back("transport", known(transports()));
  result.emplace_back("network", known(network_));
  if (!provider_.empty()) result.emplace_back("network_provider", provider_);
  if (!plugin_.empty()) result.emplace_back("net_plugin", plugin_);
  result.emplace_back("nvls", nvls_ ? Fact(*nvls_) : Fact());
  result.emplace_back("channels", channels_ ? Fact(*channels_) : Fact());
  if (net_channels_ > 0) result.emplace_back("gpu_direct_rdma", direct_channels_ > 0);
  return result;
}

// "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", "... 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA"
void NcclLog::channel(std::string_view text) {
  const auto via = after(text, " via ");
  if (text.rfind("Channel ", 0) != 0 || !via) return;
  // Names may have spaces ("NET/AWS Libfabric/0"); some versions add "comm 0x... nRanks 08".
  const std::string name = transport_name(trimmed(via->substr(0, via->find(" comm "))));
  ++uses_[name];
  if (name.rfind("NET/", 0) != 0) return;
  ++net_channels_;
  if (name.find("GDRDMA") != std::string::npos) ++direct_channels_;
}

// "AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}", older "8388608 Bytes -> Algo 1 proto
// 2 time 123.4"
void NcclLog::tuning(std::string_view text) {
  const std::size_t at = text.find(" Bytes -> Algo ");
  if (at == std::string_view::npos) return;
  const std::string_view before = text.substr(0, at);
  const auto bytes = integer(before.substr(before.find_last_of(' ') + 1));
  const std::string_view algorithm = first_word(*after(text, " Bytes -> Algo "));
  const auto protocol = after(text, " proto ");
  if (!bytes || !protocol || *bytes < bytes_) return;
  bytes_ = *bytes;
  algorithm_ = algorithm_name(algorithm);
  protocol_ = protocol_name(first_word(*protocol));
}

void NcclLog::network(std::string_view text) {
  if (const auto name = after(text, "Using network ")) network_ = std::string(trimmed(*name));
  // "NET/OFI Selected Provider is efa (found 4 nics)", later "Selected provider is efa, fabric is efa (found ..."
  for (const char* words : {"Selected Provider is ", "Selected provider is "})
    if (const auto name = after(text, words)) {
      std::string_view word = first_word(*name);
      if (!word.empty() && word.back() == ',') word.remove_suffix(1);
      provider_ = std::string(word);
    }
  if (const auto name = after(text, "NET/Plugin: Loaded net plugin "))
    plugin_ = std::string(trimmed(name->substr(0, name->find(" (v"))));
}

// "NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)", "... is not available ..."
void NcclLog::support(std::string_view text) {
  if (text.find("NVLS multicast support is available") != std::string_view::npos) nvls_ = true;
  if (text.find("NVLS multicast support is not available") != std::string_view::npos) nvls_ = false;
}

// "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p channels per peer"
void NcclLog::channels(std::string_view text) {
  const std::size_t at = text.find(" coll channels");
  if (at == std::string_view::npos) return;
  const std::string_view before = text.substr(0, at);
  if (const auto count = integer(before.substr(before.find_last_of(' ') + 1))) channels_ = count;
}

std::string NcclLog::transports() const {
  std::vector<std::pair<std::string, int>> sorted(uses_.begin(), uses_.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  // Its multicast goes beside the channels, which serve the other algorithms.
  std::string list = algorithm_.rfind("nvls", 0) == 0 ? "NVLS" : "";
  for (const auto& [name, uses] : sorted) list += (list.empty() ? "" : ",") + name;
  return list;
}

}  // namespace claimcheck::kernels::cuda
