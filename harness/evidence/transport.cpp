#include "harness/evidence/transport.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "harness/judge/machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool has(std::string_view text, std::string_view word) { return lower(text).find(word) != std::string::npos; }

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::optional<bool> known(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
}

// Of the name of a network: "NET/AWS Libfabric/GDRDMA", or "IB" alone.
Way way_of(std::string_view name, const Transport& transport) {
  if (has(name, "socket")) return Way::sockets;
  if (has(name, "fastrak") || has(name, "tcpx")) return Way::tcpx;
  if (has(name, "libfabric") || has(name, "ofi") || has(name, "efa")) {
    for (const char* slow : {"tcp", "sockets", "udp"})
      if (has(transport.provider, slow)) return Way::libfabric_tcp;
    // No other provider that NCCL meets moves a GPU's memory by itself.
    const bool direct = has(name, "gdrdma") || transport.gpu_direct.value_or(false);
    return has(transport.provider, "efa") || direct ? Way::efa : Way::libfabric;
  }
  return has(name, "ib") ? Way::verbs : Way::other;
}

}  // namespace

std::string_view to_string(Way way) {
  constexpr std::array<std::string_view, 9> names = {"TCP sockets", "TCP by way of libfabric", "libfabric",
                                                     "EFA",         "InfiniBand or RoCE",      "GPUDirect-TCPX",
                                                     "NVLink",      "another network",         "unknown"};
  return names[static_cast<std::size_t>(way)];
}

std::optional<Transport> transport_of(const Document& document, const Measurement& measurement) {
  const auto group = measurement.evidence.find("group");
  if (group == measurement.evidence.end() || !group->is_object()) return std::nullopt;
  if (measured_on_host(document, measurement)) return std::nullopt;
  Transport transport;
  transport.nodes = static_cast<int>(std::clamp(number_at(measurement.conditions, "/nodes").value_or(1), 1.0, 1e6));
  transport.parts = split(text_at(*group, "transport"));
  transport.network = text_at(*group, "network");
  transport.provider = text_at(*group, "network_provider");
  transport.plugin = text_at(*group, "net_plugin");
  transport.algorithm = lower(text_at(*group, "algorithm"));
  transport.gpu_direct = known(*group, "gpu_direct_rdma");
  transport.nvls = known(*group, "nvls");
  return transport;
}

Way way_between(const Transport& transport) {
  if (transport.nodes < 2) return Way::unknown;
  Way worst = Way::unknown;
  for (const std::string& part : transport.parts)
    if (part.starts_with("NET/")) worst = std::min(worst, way_of(std::string_view(part).substr(4), transport));
  if (worst != Way::unknown) return worst;
  if (uses_peer_access(transport)) return Way::nvlink;
  return transport.network.empty() ? Way::unknown : way_of(transport.network, transport);
}

bool uses_host_memory(const Transport& transport) {
  return std::any_of(transport.parts.begin(), transport.parts.end(), [](const std::string& part) {
    return part.starts_with("SHM") || (part.starts_with("P2P") && has(part, "indirect"));
  });
}

bool uses_peer_access(const Transport& transport) {
  return std::any_of(transport.parts.begin(), transport.parts.end(), [](const std::string& part) {
    return part.starts_with("NVLS") || (part.starts_with("P2P") && !has(part, "indirect"));
  });
}

}  // namespace claimcheck
