#include "harness/import/smi_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/import/fields.h"
#include "harness/import/smi_links.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::size_t most_gpus = 4096;  // a log of a loop has each of them again and again

double number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : -1;
}

bool all_zero(std::string_view uuid) { return uuid.find_first_not_of("0-") == std::string_view::npos; }

}  // namespace

void SmiGpu::take(SmiOutput output, std::string_view where, std::string_view raw) {
  const std::string_view value = smi_value(raw);
  if (const auto word = smi_sick(value); !word.empty() && (sick.empty() || word == "GPU is lost")) sick = word;
  const SmiKey* key = find_smi_key(output, where);
  if (key == nullptr) return;
  if (key->fact == "fabric_cluster") {
    if (smi_unknown(value)) return;
    facts["fabric_spans_machines"] = !all_zero(value);
    if (all_zero(value)) return;
  }
  const json fact = smi_fact(key->kind, value);
  if (fact.is_null()) return;
  const std::string name(key->fact);
  if (name == "index") {
    index = fact.get<double>() >= 0 && fact.get<double>() < 4096 ? std::optional(static_cast<int>(fact)) : std::nullopt;
  } else if (name == "pci_bus_id") {
    if (const auto id = bus_id(value)) bus = *id;
  } else if (key->kind == SmiKind::reason) {
    std::string list = now.value("throttle_reasons", std::string());
    if (fact.get<bool>() && ("," + list + ",").find("," + name + ",") == std::string::npos)
      list += (list.empty() ? "" : ",") + name;
    now["throttle_reasons"] = list;
  } else if (key->kind == SmiKind::sum) {
    facts[name] = std::max(0.0, number_in(facts, name.c_str())) + fact.get<double>();
  } else if (name.starts_with('/')) {
    if (!entry.contains(name.substr(1))) entry[name.substr(1)] = fact;
  } else if (name.starts_with("now/")) {
    if (!now.contains(name.substr(4))) now[name.substr(4)] = fact;
  } else if (name == "fabric_bandwidth") {
    facts["fabric_degraded_bandwidth"] = fact == "degraded";
  } else if (!facts.contains(name)) {
    facts[name] = fact;
  }
}

std::string SmiGpu::name() const {
  return bus.empty() ? fmt::format("GPU {}", index.value_or(place))
                     : fmt::format("GPU {} ({})", index.value_or(place), bus);
}

void SmiGpus::attached(std::string_view count) {
  if (attached_.empty()) begin_document();
  if (const auto value = number(smi_value(count)); value && *value >= 0 && *value < 4096)
    attached_.back() = static_cast<int>(*value);
}

SmiGpu& SmiGpus::begin() {
  if (document_ < 0) begin_document();
  if (gpus_.size() >= most_gpus) gpus_.erase(gpus_.begin());
  gpus_.emplace_back();
  gpus_.back().document = document_;
  gpus_.back().place = place_++;
  return gpus_.back();
}

SmiGpu& SmiGpus::at_index(int index) {
  for (SmiGpu& gpu : gpus_)
    if (gpu.document == document_ && gpu.index == index) return gpu;
  SmiGpu& gpu = begin();
  gpu.index = index;
  return gpu;
}

void SmiGpus::driver(std::string_view raw) {
  const std::string_view value = smi_value(raw);
  if (driver_.empty() && !smi_unknown(value) && smi_sick(value).empty()) driver_ = value;
}

void SmiGpus::cuda(std::string_view raw) {
  const std::string_view value = smi_value(raw);
  if (cuda_.empty() && !smi_unknown(value) && smi_sick(value).empty()) cuda_ = value;
}

void SmiGpus::none(std::string_view said) {
  collected_.system("/pci_gpus", json::array());
  collected_.add(Finding{
      .id = "smi.no_devices",
      .severity = "error",
      .text = fmt::format("nvidia-smi sees no GPU at all (\"{}\"): the driver answers, but none is delivered.", said),
      .next_step = "Check that the instance type has one; lspci | grep -i nvidia; dmesg (RmInitAdapter, Xid); whether "
                   "the driver's branch still knows this GPU.",
      .evidence = {{"said", said}}});
}

// The order of nvidia-smi is by bus, so a place in a whole output is the index. Of a part of one it is not.
void SmiGpus::number_them() {
  std::map<std::string, int> by_bus;
  for (const auto& [index, device] : collected_.devices())
    if (const auto id = bus_id(device.value(json::json_pointer("/facts/pci_bus_id"), std::string())))
      by_bus.emplace(*id, index);
  for (const SmiGpu& gpu : gpus_)
    if (gpu.index && !gpu.bus.empty()) by_bus[gpu.bus] = *gpu.index;
  std::vector<int> counts(attached_.size(), 0);
  for (const SmiGpu& gpu : gpus_) ++counts[static_cast<std::size_t>(gpu.document)];
  for (SmiGpu& gpu : gpus_) {
    const auto document = static_cast<std::size_t>(gpu.document);
    if (gpu.index) continue;
    const double minor = number_in(gpu.facts, "minor_number");
    if (const auto known = by_bus.find(gpu.bus); !gpu.bus.empty() && known != by_bus.end()) {
      gpu.index = known->second;
    } else if (attached_[document] && *attached_[document] > counts[document] && minor >= 0 && minor < 4096) {
      gpu.index = static_cast<int>(minor);
    } else {
      gpu.index = gpu.place;
    }
  }
  share_what_is_known();
  for (std::size_t i = 0; i < attached_.size(); ++i) {
    if (!attached_[i] || counts[i] >= *attached_[i]) continue;
    collected_.partial(
        fmt::format("{} of {} GPUs that nvidia-smi counts are in the file: of the others nothing is known", counts[i],
                    *attached_[i]));
    count_the_others(*attached_[i]);
  }
}

// They are in the machine, whatever the file leaves out: a claim of their number is not contradicted by a part.
void SmiGpus::count_the_others(int attached) {
  std::set<int> known;
  for (const SmiGpu& gpu : gpus_) known.insert(*gpu.index);
  for (int index = 0; index < attached && static_cast<int>(known.size()) < attached; ++index)
    if (known.insert(index).second) collected_.device(index, json::object());
}

// Of one GPU in several outputs: its bus, and all of its slices.
void SmiGpus::share_what_is_known() {
  std::map<int, std::pair<std::string, std::vector<std::string>>> known;
  for (const SmiGpu& gpu : gpus_) {
    auto& [bus, slices] = known[*gpu.index];
    if (bus.empty()) bus = gpu.bus;
    if (gpu.slices.size() > slices.size()) slices = gpu.slices;
  }
  for (SmiGpu& gpu : gpus_) {
    const auto& [bus, slices] = known[*gpu.index];
    if (gpu.bus.empty()) gpu.bus = bus;
    gpu.slices = slices;
  }
}

// GPUs that do not answer are left out of the count of those that work (harness/evidence/left_out.h).
void SmiGpus::leave_out(const SmiGpu& gpu) {
  const std::string mark = fmt::format("GPU {}: ", *gpu.index);
  if (left_out_.find(mark) != std::string::npos) return;
  left_out_ += fmt::format("{}{}nvidia-smi says \"{}\"", left_out_.empty() ? "" : "; ", mark, gpu.sick);
}

void SmiGpus::merge(const SmiGpu& gpu) {
  json facts = gpu.facts;
  if (!gpu.bus.empty()) facts["pci_bus_id"] = gpu.bus;
  if (!gpu.now.empty()) facts["now"] = gpu.now;
  if (!gpu.slices.empty()) facts["mig_instances"] = gpu.slices;
  // A clique is of a domain over several machines, or of nothing.
  if (facts.value("fabric_spans_machines", json()) != true) facts.erase("fabric_clique");
  if (const auto product = nvlink_product(gpu.entry.value("name", std::string())))
    facts["nvlink_version"] = std::string(product->version);
  json entry = gpu.entry;
  entry["facts"] = facts;
  collected_.device(*gpu.index, entry);
}

void SmiGpus::publish() {
  number_them();
  std::set<int> sick;
  for (const SmiGpu& gpu : gpus_) {
    if (gpu.sick.empty()) continue;
    sick.insert(*gpu.index);
    leave_out(gpu);
  }
  smi_findings(gpus_, collected_);
  // Whole names before those that the table cut.
  for (const bool cut : {false, true})
    for (const SmiGpu& gpu : gpus_)
      if (gpu.short_name == cut && !sick.contains(*gpu.index)) merge(gpu);
  if (!left_out_.empty()) collected_.system("/software/worker/left_out", left_out_);
  if (!driver_.empty()) collected_.system("/nvidia_driver", driver_);
  if (!cuda_.empty()) collected_.system("/software/worker/cuda_driver_version", cuda_);
  if (!driver_.empty()) collected_.system("/software/worker/driver_version", driver_);
  forward_compatibility(driver_, cuda_, collected_);
}

}  // namespace claimcheck::importing
