#include "harness/judge/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "harness/evidence/left_out.h"
#include "harness/judge/identity_links.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/software.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr double there_from = 0.92;  // of memory or disk sold

Verdict not_measured(const Claim& claim, const std::string& reason) {
  Verdict verdict;
  verdict.claim = claim;
  verdict.reason = reason;
  return verdict;
}

Verdict decided(const Claim& claim, bool met, json attained, const std::string& reason) {
  Verdict verdict;
  verdict.claim = claim;
  verdict.kind = met ? VerdictKind::met : VerdictKind::contradicted;
  verdict.attained = std::move(attained);
  verdict.reason = reason;
  return verdict;
}

// "2 x NVIDIA A100, 1 x NVIDIA T4".
std::string counted(const std::vector<std::string>& names) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name];
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
  }
  return text;
}

std::string no_accelerator_advice() {
  return "No accelerator shows on the PCI bus or to a driver. -> `lspci | grep -iE 'nvidia|amd'` on the machine "
         "itself; in a container, start it with the GPUs passed through; otherwise this is not the machine that was "
         "ordered.";
}

// The word of a name that tells the model: letters and digits in it, "H100" of "NVIDIA H100 SXM5 80GB".
std::string model_word(const std::string& name) {
  std::string word;
  for (const char c : name + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      continue;
    }
    const bool letter = std::any_of(word.begin(), word.end(), [](char x) { return std::isalpha(x) != 0; });
    const bool digit = std::any_of(word.begin(), word.end(), [](char x) { return std::isdigit(x) != 0; });
    if (letter && digit) return word;
    word.clear();
  }
  return {};
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

Verdict accelerator_verdict(const Document& document, const Claim& claim, const Catalog& catalog) {
  const auto seen = accelerators_seen(document);
  const std::string sold = value_text(claim.value);
  if (!seen) return not_measured(claim, "the result does not say which accelerators the machine has");
  if (seen->empty()) {
    Verdict verdict = decided(claim, false, nullptr, fmt::format("no accelerator is here; {} was sold", sold));
    verdict.diagnosis = {no_accelerator_advice()};
    return verdict;
  }
  std::string id = text_at(claim.definition, "accelerator");
  const Accelerator* wanted = id.empty() ? catalog.find_accelerator(sold) : nullptr;
  if (wanted != nullptr) id = wanted->id;
  for (const std::string& name : *seen) {
    if (name.ends_with("Graphics Device"))
      return not_measured(claim, fmt::format("the driver does not know the GPU and calls it \"{}\"", name));
    if (name == "unknown GPU")
      return not_measured(claim, text_at(document.run, "profile") == "import"
                                     ? "GPUs are here, but what was imported does not say which"
                                     : "a GPU is here, but nothing says which (no driver loaded?)");
    const Accelerator* found = accelerator_of_name(catalog, name);
    // A name that fits several cards ("H100") is met by each of them.
    const bool same = found != nullptr && !id.empty()
                          ? found->id == id
                          : !model_word(sold).empty() && upper(name).find(model_word(sold)) != name.npos;
    if (same) continue;
    Verdict verdict = decided(claim, false, name, fmt::format("the machine has {}; {} was sold", counted(*seen), sold));
    verdict.diagnosis = {
        "The device itself says what it is. -> Compare the instance type you ordered with what the provider's console "
        "shows, and send this line to its support."};
    return verdict;
  }
  return decided(claim, true, seen->front(), fmt::format("the devices call themselves {}", seen->front()));
}

// "30.4 TiB" of 30.4 TB: the digits hold in the decimal unit. Only of claims that gave their unit.
std::vector<std::string> digits_of_another_unit(const Claim& claim, double here) {
  const std::string given = text_at(claim.definition, "given");
  for (const auto& [binary, decimal, bytes] :
       {std::tuple("GiB", "GB", 1e9), std::tuple("TiB", "TB", 1e12), std::tuple("MiB", "MB", 1e6)}) {
    if (!given.ends_with(binary)) continue;
    const double digits = std::atof(given.c_str());
    const double unit = claim.unit == "GiB" ? 1073741824.0 : 1e9;
    if (here * unit < there_from * digits * bytes) continue;
    return {fmt::format("{} takes decimal digits for a binary unit: {} {} are here. -> Judge {} {}.", given,
                        exact_text(digits), decimal, exact_text(digits), decimal)};
  }
  return {};
}

// Of the accelerator with the least.
Verdict device_memory_verdict(const Document& document, const Claim& claim) {
  std::optional<double> least;
  int count = 0;
  if (worker_kind(document) == "host") return not_measured(claim, "only the CPU was measured");
  if (document.is_virtual) return not_measured(claim, "the GPUs of a virtual machine have little memory on purpose");
  for (const json& device : document.system.value("devices", json::array())) {
    const auto bytes = number_at(device, "/memory_bytes");
    if (!bytes) continue;
    least = std::min(least.value_or(*bytes), *bytes);
    ++count;
  }
  if (!least) return not_measured(claim, "the result does not say how much memory its accelerators have");
  const double here = *least / 1e9;
  const double sold = claim.value.get<double>();
  Verdict verdict = decided(claim, here >= there_from * sold, here,
                            fmt::format("each accelerator has at least {} GB of {} GB sold ({})", number_text(here),
                                        exact_text(sold), share_text(here / sold)));
  const std::size_t all = document.system.value("devices", json::array()).size();
  if (verdict.kind == VerdictKind::met && static_cast<std::size_t>(count) < all)
    return not_measured(claim, fmt::format("the result says it of {} of {} accelerators only", count, all));
  if (verdict.kind == VerdictKind::met) return verdict;
  if (count > 1 && std::abs(here * count / sold - 1) < 1 - there_from) {
    verdict.diagnosis = {
        fmt::format("{} GB is what {} accelerators have together; the claim is of one. -> Judge "
                    "'identity.accelerator_memory_gb>={}'.",
                    exact_text(sold), count, exact_text(sold / count))};
    return verdict;
  }
  verdict.diagnosis = digits_of_another_unit(claim, here);
  verdict.diagnosis.emplace_back(
      "A smaller card, or a slice of one (MIG, vGPU). -> `nvidia-smi -L` shows slices; compare with the order.");
  return verdict;
}

// Of a run over several nodes, how many each has; the claim is about one.
std::map<int, int> devices_by_node(const Document& document) {
  std::map<int, int> counts;
  for (const json& device : document.system.value("devices", json::array()))
    if (const auto node = number_at(device, "/facts/node")) ++counts[static_cast<int>(*node)];
  return counts;
}

// The first node that has another number, else the first.
std::pair<int, int> telling_node(const std::map<int, int>& counts, double sold) {
  for (const auto& [node, count] : counts)
    if (count != sold) return {node, count};
  return *counts.begin();
}

// Of other tools, nvidia-smi and nvbandwidth list what the machine has; programs list the GPUs that they ran on.
bool lists_all(const Document& document) {
  if (text_at(document.run, "profile") != "import") return true;
  double next = 0;
  for (const json& device : objects_at(document.system, "devices"))
    if (number_at(device, "/index") != next++) return false;
  for (const json& file : objects_at(document.run, "imported"))
    for (const json& format : file.value("formats", json::array()))
      if (format == "nvidia-smi" || format == "nvbandwidth") return true;
  return false;
}

Verdict count_verdict(const Document& document, const Claim& claim) {
  const auto seen = accelerators_seen(document);
  if (!seen) return not_measured(claim, "the result does not say which accelerators the machine has");
  const double sold = claim.value.get<double>();
  double here = static_cast<double>(seen->size());
  std::string where = "here";
  const std::map<int, int> by_node = devices_by_node(document);
  if (by_node.size() > 1) {
    const auto [node, count] = telling_node(by_node, sold);
    here = count;
    where = here == sold ? fmt::format("on each of {} nodes", by_node.size()) : fmt::format("on node {}", node);
  }
  Verdict verdict = decided(claim, here == sold, here,
                            here == sold ? fmt::format("{} are {}", exact_text(here), where)
                                         : fmt::format("{} {}; {} sold", exact_text(here), where, exact_text(sold)));
  const std::vector<LeftOut> left_out = left_out_devices(document);
  if (here > 0 && here < sold && left_out.empty() && !lists_all(document))
    return not_measured(claim, fmt::format("{} took part in what was imported, which does not say how many the machine "
                                           "has",
                                           exact_text(here)));
  if (!left_out.empty() && here < sold) {
    verdict.reason =
        fmt::format("{} of {} GPUs work; {} did not start", exact_text(here), exact_text(sold), names_of(left_out));
    for (const Finding& finding : left_out_findings(document))
      verdict.diagnosis.push_back(finding.text + " -> " + finding.next_step);
  } else if (here == 0) {
    verdict.diagnosis = {no_accelerator_advice()};
  } else if (here < sold) {
    verdict.diagnosis = {fmt::format(
        "{} of {} accelerators are missing. -> `nvidia-smi -L` and `dmesg | grep -i xid`: a lost GPU shows there; "
        "CUDA_VISIBLE_DEVICES or the container may hide some.",
        exact_text(sold - here), exact_text(sold))};
  }
  return verdict;
}

Verdict vcpu_verdict(const Document& document, const Claim& claim) {
  const auto threads = number_at(document.system, "/cpu/threads");
  if (!threads) return not_measured(claim, "the result does not say how many CPUs the machine has");
  const double sold = claim.value.get<double>();
  Verdict verdict = decided(claim, *threads == sold, *threads,
                            fmt::format("the machine shows {} of {} vCPUs", exact_text(*threads), exact_text(sold)));
  if (*threads * 2 == sold) {
    verdict.diagnosis = {
        "Exactly half: one thread a core. -> Simultaneous multithreading is switched off (image or launch option "
        "threads-per-core=1); all cores are there."};
  } else if (*threads != sold) {
    verdict.diagnosis = {
        "Another size of the family, or a virtual machine within the machine. -> Compare with the "
        "instance type the provider's console shows."};
  }
  return verdict;
}

Verdict ram_verdict(const Document& document, const Claim& claim) {
  const auto bytes = number_at(document.system, "/memory_bytes");
  if (!bytes) return not_measured(claim, "the result does not say how much memory the machine has");
  const double here = *bytes / 1073741824.0;
  const double sold = claim.value.get<double>();
  const bool met = here >= there_from * sold;
  Verdict verdict = decided(
      claim, met, here,
      fmt::format("{} GiB of {} GiB is visible ({})", number_text(here), exact_text(sold), share_text(here / sold)));
  if (!met) {
    verdict.diagnosis = {
        "Firmware and kernel keep a few percent, not this much. -> `dmesg | grep -i memory` and "
        "`free -g`; compare with the instance type the provider's console shows."};
  }
  return verdict;
}

// Disks of the machine itself. Providers show network disks as NVMe too; those say so in their model.
bool is_local_nvme(const json& disk) {
  const std::string name = text_at(disk, "name");
  const std::string model = upper(text_at(disk, "model"));
  if (!name.starts_with("nvme")) return false;
  for (const char* remote : {"ELASTIC BLOCK", "ACCELERATOR", "-PD", "PERSISTENT", "CLOUD BLOCK", "REMOTE"}) {
    if (model.find(remote) != std::string::npos) return false;
  }
  return true;
}

Verdict nvme_verdict(const Document& document, const Claim& claim) {
  const auto disks = document.system.find("disks");
  if (disks == document.system.end() || !disks->is_array()) {
    return not_measured(claim, "the result does not say which disks the machine has");
  }
  double bytes = 0;
  int count = 0;
  for (const json& disk : *disks) {
    const auto size = number_at(disk, "/bytes");
    if (!is_local_nvme(disk) || !size) continue;
    bytes += *size;
    ++count;
  }
  const double here = bytes / 1e9;
  const double sold = claim.value.get<double>();
  const bool met = here >= there_from * sold;
  Verdict verdict =
      decided(claim, met, here,
              fmt::format("{} GB on {} local NVMe disks of {} GB sold", number_text(here), count, exact_text(sold)));
  if (!met) {
    verdict.diagnosis = digits_of_another_unit(claim, here);
    if (!verdict.diagnosis.empty()) return verdict;
    verdict.diagnosis = {
        "Local disks are missing. -> `lsblk -o NAME,MODEL,SIZE`: some providers attach them only when "
        "asked for at launch."};
  }
  return verdict;
}

}  // namespace

std::string identity_name(const std::string& metric) {
  if (metric.starts_with("identity.software.")) return software_title(metric);
  static const std::map<std::string, std::string> names = {
      {"identity.accelerator", "accelerator"},
      {"identity.accelerator_count", "number of accelerators"},
      {"identity.accelerator_memory_gb", "memory of an accelerator"},
      {"identity.interconnect_gbps", "links of an accelerator"},
      {"identity.vcpus", "vCPUs"},
      {"identity.ram_gib", "memory"},
      {"identity.local_nvme_gb", "local NVMe"},
      {"identity.network_gbps", "network of a node"},
      {"transport.network", "network between nodes"},
      {"transport.inside_node", "links inside a node"},
  };
  const auto found = names.find(metric);
  return found == names.end() ? metric : found->second;
}

Verdict identity_verdict(const Document& document, const Claim& claim, const Catalog& catalog) {
  if (claim.metric.starts_with("identity.software.")) return software_verdict(document, claim);
  if (claim.metric == "identity.accelerator") return accelerator_verdict(document, claim, catalog);
  if (!claim.value.is_number()) return not_measured(claim, "the claim has no number");
  if (claim.metric == "identity.accelerator_count") return count_verdict(document, claim);
  if (claim.metric == "identity.accelerator_memory_gb") return device_memory_verdict(document, claim);
  if (claim.metric == "identity.interconnect_gbps") return interconnect_verdict(document, claim);
  if (claim.metric == "identity.network_gbps") return network_rate_verdict(document, claim);
  if (claim.metric == "identity.vcpus") return vcpu_verdict(document, claim);
  if (claim.metric == "identity.ram_gib") return ram_verdict(document, claim);
  if (claim.metric == "identity.local_nvme_gb") return nvme_verdict(document, claim);
  return not_measured(claim, "nothing here looks at this");
}

}  // namespace claimcheck
