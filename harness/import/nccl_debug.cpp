// What NCCL says with NCCL_DEBUG=INFO or WARN: version, plug-in, provider, transports of the channels, algorithm. It
// becomes the evidence of the collectives in the same file, in the words of harness/evidence/transport.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "harness/import/fields.h"
#include "harness/import/format.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

class NcclDebug : public Reader {
 public:
  explicit NcclDebug(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (const auto version = after(text, "NCCL version ")) {
      const Fields fields(*version);
      if (fields.size() > 0) collected_.system("/software/nccl", std::string(fields[0].substr(0, fields[0].find('+'))));
      return true;
    }
    const bool info = contains(text, "NCCL INFO ");
    const bool warn = !info && contains(text, "NCCL WARN ");
    if (!info && !warn) return contains(text, "NCCL TRACE ");
    const std::string_view said = *after(text, info ? "NCCL INFO " : "NCCL WARN ");
    seen_ = true;
    if (warn) warning(said);
    channel(said);
    network(said);
    algorithm(said);
    communicator(text, said);
    return true;
  }

  void end(bool) override {
    if (!seen_) return;
    json group = json::object();
    std::vector<std::pair<std::size_t, std::string>> used;
    for (const auto& [name, count] : transports_) used.emplace_back(count, name);
    std::sort(used.rbegin(), used.rend());
    std::string list;
    for (const auto& [count, name] : used) list += (list.empty() ? "" : ",") + name;
    if (!list.empty()) group["transport"] = list;
    for (const auto& [key, value] : words_) group[key] = value;
    if (gpu_direct_) group["gpu_direct_rdma"] = *gpu_direct_;
    if (nvls_) group["nvls"] = true;
    if (!group.empty()) collected_.transport(group);
    if (!plugin_problem_.empty())
      collected_.add(Finding{"import.net_plugin",
                             "warning",
                             fmt::format("NCCL's network plug-in did not start: {}.", plugin_problem_),
                             "Check LD_LIBRARY_PATH and the versions of plug-in and libfabric.",
                             {}});
    provider_finding();
    if (!list.empty()) collected_.note("NCCL sends over " + list);
    if (contains(list, "AWS Libfabric") && words_.count("network_provider") == 0)
      collected_.note("AWS Libfabric is the plug-in for EFA; which provider libfabric took is not in the log");
    if (ranks_ > 0)
      collected_.note(fmt::format("NCCL made a communicator of {} ranks{}", ranks_,
                                  hosts_.size() > 1 ? fmt::format(" on {} hosts", hosts_.size()) : ""));
  }

 private:
  // "Channel 01 : 9[101d0] -> 0[101c0] [send] via NET/AWS Libfabric/0/GDRDMA"
  void channel(std::string_view said) {
    if (!said.starts_with("Channel ") && !said.starts_with("Ring ")) return;
    const auto via = after(said, " via ");
    if (!via) return;
    std::string name(*via);
    if (const std::size_t blank = name.find(" comm "); blank != std::string::npos) name.resize(blank);
    if (name.starts_with("NET/")) {
      const bool direct = contains(name, "GDRDMA");
      gpu_direct_ = gpu_direct_.value_or(true) && direct;
      // "/0" is the number of the adapter.
      const std::size_t slash = name.find('/', 4);
      if (slash != std::string::npos) name.resize(slash);
      if (direct) name += "/GDRDMA";
    } else if (const std::size_t blank = name.find(' '); blank != std::string::npos) {
      name.resize(blank);
    }
    if (transports_.size() < 100 || transports_.count(name) != 0) ++transports_[name];
  }

  void network(std::string_view said) {
    if (const auto provider = after(said, "Selected Provider is ")) {
      const Fields fields(*provider);
      if (fields.size() > 0) words_["network_provider"] = std::string(fields[0]);
      words_.try_emplace("network", "AWS Libfabric");
    }
    if (const auto used = after(said, "Using network ")) words_["network"] = std::string(*used);
    if (const auto plugin = after(said, "NET/Plugin: Loaded net plugin "))
      words_["net_plugin"] = std::string(Fields(*plugin)[0]);
    if (contains(said, "NET/OFI Initializing aws-ofi-nccl ") && !contains(said, "failed"))
      words_["net_plugin"] = "aws-ofi-nccl " + std::string(Fields(*after(said, "aws-ofi-nccl "))[0]);
    if (said.starts_with("NET/IB : Using ")) words_.try_emplace("network", "IB");
    if (said.starts_with("NET/Socket : Using ") && words_.count("network") == 0) words_["sockets_seen"] = "true";
    if (contains(said, "NET/OFI") && (contains(said, "failed") || contains(said, "Failed")))
      plugin_problem_ = std::string(said.substr(0, 160));
    if (contains(said, "GPU Direct RDMA Disabled")) gpu_direct_ = false;
  }

  void algorithm(std::string_view said) {
    if (contains(said, "NVLS") && (contains(said, "multicast support is available") || contains(said, "NVLS comm ")))
      nvls_ = true;
    if (const auto algo = after(said, "Algo "))
      if (const Fields fields(*algo); fields.size() > 0) words_.try_emplace("algorithm", std::string(fields[0]));
  }

  // "comm 0x... rank 0 nranks 16 cudaDev 0 busId 101c0 - Init COMPLETE", with the host before "NCCL INFO"
  void communicator(std::string_view text, std::string_view said) {
    if (!contains(said, "Init COMPLETE") && !contains(said, "Init START")) return;
    if (const auto ranks = after(said, "nranks "))
      if (const auto count = number(Fields(*ranks)[0]))
        ranks_ = std::max(ranks_, static_cast<int>(std::min(*count, 1e6)));
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos && colon < text.find("NCCL INFO") && hosts_.size() < 10'000)
      hosts_.emplace(trimmed(text.substr(0, colon)));
  }

  struct Known {
    std::string_view part;
    std::string_view cause;
    std::string_view next_step;
  };

  // What NCCL warns of most, and what is behind it.
  static const Known* known(std::string_view said) {
    static constexpr std::array<Known, 6> table = {
        {{"Duplicate GPU detected", "two ranks were given one GPU, or two MIG instances of one card",
          "Give each rank a GPU of its own (CUDA_VISIBLE_DEVICES, -g, ranks a node); collectives between MIG instances "
          "cannot be tested."},
         {"Bootstrap : no socket interface found", "no network interface is usable",
          "Set NCCL_SOCKET_IFNAME to one that all nodes have."},
         {"Mismatched", "nodes have different versions or settings", "Use one image on all nodes."},
         {"Call to connect", "a rank cannot be reached",
          "Check the firewall between the nodes and NCCL_SOCKET_IFNAME."},
         {"Got completion", "an RDMA transfer failed", "Check the ports (ibstat), the GID index and the switch."},
         {"out of memory", "a GPU or /dev/shm is full", "Free the GPU; give a container a larger --shm-size."}}};
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const Known& one) { return contains(said, one.part); });
    return found == table.end() ? nullptr : &*found;
  }

  void warning(std::string_view said) {
    if (const Known* one = known(said)) {
      collected_.add(Finding{"import.nccl_warn",
                             contains(said, "Duplicate GPU") ? "error" : "warning",
                             fmt::format("NCCL warned: {}: {}.", std::string(said.substr(0, 200)), one->cause),
                             std::string(one->next_step),
                             {}});
      return;
    }
    collected_.add(Finding{"import.nccl_warn",
                           "warning",
                           fmt::format("NCCL warned: {}.", std::string(said.substr(0, 200))),
                           "The first warning is the cause, later ones are mostly its consequences.",
                           {}});
  }

  void provider_finding() {
    const auto provider = words_.find("network_provider");
    if (provider == words_.end() || provider->second == "efa") return;
    const bool slow =
        contains(provider->second, "tcp") || contains(provider->second, "sockets") || contains(provider->second, "udp");
    if (!slow) return;
    collected_.add(
        Finding{"import.provider",
                "error",
                fmt::format("The plug-in for EFA is loaded, but libfabric chose the provider {}: EFA is not used.",
                            provider->second),
                "Set FI_PROVIDER=efa, give the machines a security group that lets all traffic among themselves pass, "
                "and the container the EFA devices.",
                {{"network_provider", provider->second}}});
  }

  Collected& collected_;
  bool seen_ = false;
  std::map<std::string, std::size_t> transports_;
  std::map<std::string, std::string> words_;
  std::optional<bool> gpu_direct_;
  bool nvls_ = false;
  std::string plugin_problem_;
  int ranks_ = 0;
  std::set<std::string> hosts_;
};

}  // namespace

std::unique_ptr<Reader> open_nccl_debug(Collected& collected) { return std::make_unique<NcclDebug>(collected); }

}  // namespace claimcheck::importing
