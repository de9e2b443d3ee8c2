#include "harness/import/smi_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "harness/import/fields.h"
#include "harness/probe/probe.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;
using enum SmiKind;

// nvidia-smi 375 to 610. A fact may stand in several places: they changed between drivers.
constexpr std::array keys = {
    SmiKey{"/name", text, "product name", "product_name", "name"},
    SmiKey{"/name", text, "", "", "gpu_name"},
    SmiKey{"/uuid", identifier, "gpu uuid", "uuid", "uuid"},
    SmiKey{"/uuid", identifier, "", "", "gpu_uuid"},
    SmiKey{"/memory_bytes", mib, "fb memory usage/total", "fb_memory_usage/total", "memory.total"},
    SmiKey{"/memory_bytes", mib, "memory usage/total", "memory_usage/total", ""},
    SmiKey{"architecture", text, "product architecture", "product_architecture", ""},
    SmiKey{"brand", text, "product brand", "product_brand", ""},
    SmiKey{"index", number, "", "", "index"},
    SmiKey{"minor_number", number, "minor number", "minor_number", ""},
    SmiKey{"pci_bus_id", text, "pci/bus id", "pci/pci_bus_id", "pci.bus_id"},
    SmiKey{"pci_bus_id", text, "", "", "gpu_bus_id"},
    SmiKey{"persistence_mode", flag, "persistence mode", "persistence_mode", "persistence_mode"},
    SmiKey{"compute_mode", word, "compute mode", "compute_mode", "compute_mode"},
    SmiKey{"driver_model", text, "driver model/current", "driver_model/current_dm", "driver_model.current"},
    SmiKey{"display_active", flag, "display active", "display_active", "display_active"},
    SmiKey{"mig_enabled", flag, "mig mode/current", "mig_mode/current_mig", "mig.mode.current"},
    SmiKey{"virtualization", word, "gpu virtualization mode/virtualization mode",
           "gpu_virtualization_mode/virtualization_mode", ""},
    SmiKey{"virtualization", word, "virtualization mode/virtualization mode", "virtualization_mode", ""},
    SmiKey{"licensed_product", text, "vgpu software licensed product/product name",
           "vgpu_software_licensed_product/licensed_product_name", ""},
    SmiKey{"licensed_product", text, "grid licensed product/product name",
           "grid_licensed_product/licensed_product_name", ""},
    SmiKey{"license_status", text, "vgpu software licensed product/license status",
           "vgpu_software_licensed_product/license_status", ""},
    SmiKey{"license_status", text, "grid licensed product/license status", "grid_licensed_product/license_status", ""},
    SmiKey{"recovery_action", text, "gpu recovery action", "gpu_recovery_action", "gpu_recovery_action"},
    SmiKey{"reset_required", flag, "gpu reset status/reset required", "gpu_reset_status/reset_required",
           "reset_status.reset_required"},
    SmiKey{"drain_and_reset_recommended", flag, "gpu reset status/drain and reset recommended",
           "gpu_reset_status/drain_and_reset_recommended", "reset_status.drain_and_reset_recommended"},
    // ECC and what became of bad memory
    SmiKey{"ecc_enabled", flag, "ecc mode/current", "ecc_mode/current_ecc", "ecc.mode.current"},
    SmiKey{"ecc_enabled_after_reboot", flag, "ecc mode/pending", "ecc_mode/pending_ecc", "ecc.mode.pending"},
    SmiKey{"ecc_corrected", sum, "ecc errors/volatile/sram correctable", "ecc_errors/volatile/sram_correctable", ""},
    SmiKey{"ecc_corrected", sum, "ecc errors/volatile/dram correctable", "ecc_errors/volatile/dram_correctable", ""},
    SmiKey{"ecc_corrected", sum, "ecc errors/volatile/single bit/total", "ecc_errors/volatile/single_bit/total",
           "ecc.errors.corrected.volatile.total"},
    SmiKey{"ecc_uncorrected", sum, "ecc errors/volatile/sram uncorrectable", "ecc_errors/volatile/sram_uncorrectable",
           ""},
    SmiKey{"ecc_uncorrected", sum, "ecc errors/volatile/sram uncorrectable parity",
           "ecc_errors/volatile/sram_uncorrectable_parity", ""},
    SmiKey{"ecc_uncorrected", sum, "ecc errors/volatile/sram uncorrectable sec-ded",
           "ecc_errors/volatile/sram_uncorrectable_secded", ""},
    SmiKey{"ecc_uncorrected", sum, "ecc errors/volatile/dram uncorrectable", "ecc_errors/volatile/dram_uncorrectable",
           ""},
    SmiKey{"ecc_uncorrected", sum, "ecc errors/volatile/double bit/total", "ecc_errors/volatile/double_bit/total",
           "ecc.errors.uncorrected.volatile.total"},
    SmiKey{"ecc_corrected_lifetime", sum, "ecc errors/aggregate/sram correctable",
           "ecc_errors/aggregate/sram_correctable", ""},
    SmiKey{"ecc_corrected_lifetime", sum, "ecc errors/aggregate/dram correctable",
           "ecc_errors/aggregate/dram_correctable", ""},
    SmiKey{"ecc_corrected_lifetime", sum, "ecc errors/aggregate/single bit/total",
           "ecc_errors/aggregate/single_bit/total", "ecc.errors.corrected.aggregate.total"},
    SmiKey{"ecc_uncorrected_lifetime", sum, "ecc errors/aggregate/sram uncorrectable",
           "ecc_errors/aggregate/sram_uncorrectable", ""},
    SmiKey{"ecc_uncorrected_lifetime", sum, "ecc errors/aggregate/sram uncorrectable parity",
           "ecc_errors/aggregate/sram_uncorrectable_parity", ""},
    SmiKey{"ecc_uncorrected_lifetime", sum, "ecc errors/aggregate/sram uncorrectable sec-ded",
           "ecc_errors/aggregate/sram_uncorrectable_secded", ""},
    SmiKey{"ecc_uncorrected_lifetime", sum, "ecc errors/aggregate/dram uncorrectable",
           "ecc_errors/aggregate/dram_uncorrectable", ""},
    SmiKey{"ecc_uncorrected_lifetime", sum, "ecc errors/aggregate/double bit/total",
           "ecc_errors/aggregate/double_bit/total", "ecc.errors.uncorrected.aggregate.total"},
    SmiKey{"retired_pages_single_bit", number, "retired pages/single bit ecc",
           "retired_pages/multiple_single_bit_retirement/retired_count", "retired_pages.single_bit_ecc.count"},
    SmiKey{"retired_pages_double_bit", number, "retired pages/double bit ecc",
           "retired_pages/double_bit_retirement/retired_count", "retired_pages.double_bit.count"},
    SmiKey{"retired_pages_pending", flag, "retired pages/pending page blacklist", "retired_pages/pending_retirement",
           "retired_pages.pending"},
    SmiKey{"retired_pages_pending", flag, "retired pages/pending", "retired_pages/pending_blacklist", ""},
    SmiKey{"row_remaps_correctable", number, "remapped rows/correctable error", "remapped_rows/remapped_row_corr",
           "remapped_rows.correctable"},
    SmiKey{"row_remaps_uncorrectable", number, "remapped rows/uncorrectable error", "remapped_rows/remapped_row_unc",
           "remapped_rows.uncorrectable"},
    SmiKey{"row_remap_pending", flag, "remapped rows/pending", "remapped_rows/remapped_row_pending",
           "remapped_rows.pending"},
    SmiKey{"row_remap_failed", flag, "remapped rows/remapping failure occurred", "remapped_rows/remapped_row_failure",
           "remapped_rows.failure"},
    // Power, clocks
    SmiKey{"power_limit_w", number, "gpu power readings/current power limit", "gpu_power_readings/current_power_limit",
           "power.limit"},
    SmiKey{"power_limit_w", number, "power readings/power limit", "power_readings/power_limit", "enforced.power.limit"},
    SmiKey{"power_limit_w", number, "gpu power readings/power limit", "gpu_power_readings/power_limit", ""},
    SmiKey{"power_limit_default_w", number, "gpu power readings/default power limit",
           "gpu_power_readings/default_power_limit", "power.default_limit"},
    SmiKey{"power_limit_default_w", number, "power readings/default power limit", "power_readings/default_power_limit",
           ""},
    SmiKey{"power_limit_max_w", number, "gpu power readings/max power limit", "gpu_power_readings/max_power_limit",
           "power.max_limit"},
    SmiKey{"power_limit_max_w", number, "power readings/max power limit", "power_readings/max_power_limit", ""},
    SmiKey{"max_sm_clock_mhz", number, "max clocks/sm", "max_clocks/sm_clock", "clocks.max.sm"},
    SmiKey{"max_memory_clock_mhz", number, "max clocks/memory", "max_clocks/mem_clock", "clocks.max.memory"},
    SmiKey{"application_clock_mhz", number, "applications clocks/graphics", "applications_clocks/graphics_clock",
           "clocks.applications.graphics"},
    SmiKey{"application_clock_default_mhz", number, "default applications clocks/graphics",
           "default_applications_clocks/graphics_clock", "clocks.default_applications.graphics"},
    // Links
    SmiKey{"pcie_generation", number, "pci/gpu link info/pcie generation/current",
           "pci/pci_gpu_link_info/pcie_gen/current_link_gen", "pcie.link.gen.current"},
    SmiKey{"pcie_generation", number, "", "", "pcie.link.gen.gpucurrent"},
    SmiKey{"pcie_max_generation", number, "pci/gpu link info/pcie generation/max",
           "pci/pci_gpu_link_info/pcie_gen/max_link_gen", "pcie.link.gen.max"},
    SmiKey{"pcie_gpu_max_generation", number, "pci/gpu link info/pcie generation/device max",
           "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen", "pcie.link.gen.gpumax"},
    SmiKey{"pcie_host_max_generation", number, "pci/gpu link info/pcie generation/host max",
           "pci/pci_gpu_link_info/pcie_gen/max_host_link_gen", "pcie.link.gen.hostmax"},
    SmiKey{"pcie_width", number, "pci/gpu link info/link width/current",
           "pci/pci_gpu_link_info/link_widths/current_link_width", "pcie.link.width.current"},
    SmiKey{"pcie_max_width", number, "pci/gpu link info/link width/max",
           "pci/pci_gpu_link_info/link_widths/max_link_width", "pcie.link.width.max"},
    SmiKey{"pcie_replays", number, "pci/replays since reset", "pci/replay_counter", ""},
    SmiKey{"fabric_state", word, "fabric/state", "fabric/state", "fabric.state"},
    SmiKey{"fabric_status", word, "fabric/status", "fabric/status", "fabric.status"},
    SmiKey{"fabric_clique", number, "fabric/cliqueid", "fabric/cliqueid", "fabric.cliqueid"},
    SmiKey{"fabric_cluster", identifier, "fabric/clusteruuid", "fabric/clusteruuid", "fabric.clusteruuid"},
    SmiKey{"fabric_health", word, "fabric/health/summary", "fabric/health/summary", "fabric.health.summary"},
    SmiKey{"fabric_bandwidth", word, "fabric/health/bandwidth", "fabric/health/bandwidth", "fabric.health.bandwidth"},
    SmiKey{"fabric_route_unhealthy", flag, "fabric/health/route unhealthy", "fabric/health/route_unhealthy",
           "fabric.health.route_unhealthy"},
    // What it was like when nvidia-smi looked
    SmiKey{"now/performance_state", text, "performance state", "performance_state", "pstate"},
    SmiKey{"now/sm_clock_mhz", number, "clocks/sm", "clocks/sm_clock", "clocks.current.sm"},
    SmiKey{"now/sm_clock_mhz", number, "", "", "clocks.sm"},
    SmiKey{"now/memory_clock_mhz", number, "clocks/memory", "clocks/mem_clock", "clocks.current.memory"},
    SmiKey{"now/temperature_c", number, "temperature/gpu current temp", "temperature/gpu_temp", "temperature.gpu"},
    SmiKey{"now/memory_temperature_c", number, "temperature/memory current temp", "temperature/memory_temp",
           "temperature.memory"},
    SmiKey{"now/power_w", number, "gpu power readings/average power draw", "gpu_power_readings/average_power_draw",
           "power.draw"},
    SmiKey{"now/power_w", number, "gpu power readings/power draw", "gpu_power_readings/power_draw",
           "power.draw.average"},
    SmiKey{"now/power_w", number, "power readings/power draw", "power_readings/power_draw", "power.draw.instant"},
    SmiKey{"now/power_w", number, "gpu power readings/instantaneous power draw",
           "gpu_power_readings/instant_power_draw", ""},
    SmiKey{"now/utilization_percent", number, "utilization/gpu", "utilization/gpu_util", "utilization.gpu"},
    SmiKey{"now/memory_used_bytes", mib, "fb memory usage/used", "fb_memory_usage/used", "memory.used"},
};

// Reasons why clocks are held back, under their names before and since driver 535, and in which outputs.
constexpr std::array<std::array<std::string_view, 3>, 9> reasons = {{
    {"gpu_idle", "idle", "gpu_idle"},
    {"application_clocks", "applications clocks setting", "applications_clocks_setting"},
    {"sw_power_cap", "sw power cap", "sw_power_cap"},
    {"hw_slowdown", "hw slowdown", "hw_slowdown"},
    {"hw_thermal_slowdown", "hw slowdown/hw thermal slowdown", "hw_thermal_slowdown"},
    {"hw_power_brake", "hw slowdown/hw power brake slowdown", "hw_power_brake_slowdown"},
    {"sync_boost", "sync boost", "sync_boost"},
    {"sw_thermal_slowdown", "sw thermal slowdown", "sw_thermal_slowdown"},
    {"display_clock", "display clock setting", "display_clocks_setting"},
}};

using Index = std::map<std::string, SmiKey, std::less<>>;

void add_reasons(SmiOutput output, Index& index) {
  for (const auto& [name, in_text, in_others] : reasons)
    for (const char* period : {"throttle", "event"}) {
      const SmiKey key{name, SmiKind::reason, {}, {}, {}};
      if (output == SmiOutput::text) {
        index.emplace(fmt::format("clocks {} reasons/{}", period, in_text), key);
        // "HW Thermal Slowdown" stands beneath "HW Slowdown", or beside it.
        index.emplace(fmt::format("clocks {} reasons/{}", period, in_text.substr(in_text.find('/') + 1)), key);
      } else if (output == SmiOutput::xml) {
        const std::string list = fmt::format("clocks_{}_reasons/clocks_{}_reason_", period, period);
        index.emplace(list + std::string(in_others), key);
        index.emplace(list + std::string(name), key);
      } else {
        index.emplace(fmt::format("clocks_{}_reasons.{}", period, in_others), key);
      }
    }
}

Index index_of(SmiOutput output) {
  Index index;
  for (const SmiKey& key : keys) {
    const std::string_view place = output == SmiOutput::text ? key.text : output == SmiOutput::xml ? key.xml : key.csv;
    if (!place.empty()) index.emplace(place, key);
  }
  add_reasons(output, index);
  return index;
}

bool same(std::string_view one, std::string_view other) { return lower(one) == other; }

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

const SmiKey* find_smi_key(SmiOutput output, std::string_view place) {
  static const std::array<Index, 3> indices = {index_of(SmiOutput::text), index_of(SmiOutput::xml),
                                               index_of(SmiOutput::csv)};
  const Index& index = indices[static_cast<std::size_t>(output)];
  const auto found = index.find(lower(place));
  return found == index.end() ? nullptr : &found->second;
}

std::string_view smi_value(std::string_view raw) {
  std::string_view value = trimmed(raw);
  if (const std::size_t at = value.find(" [Deprecated"); at != std::string_view::npos)
    value = trimmed(value.substr(0, at));
  if (value.size() > 1 && value.front() == '[' && value.back() == ']')
    value = trimmed(value.substr(1, value.size() - 2));
  return value;
}

bool smi_unknown(std::string_view value) {
  constexpr std::array words = {"",
                                "n/a",
                                "not supported",
                                "not available",
                                "unknown",
                                "not active yet",
                                "insufficient permissions",
                                "no permission",
                                "not found",
                                "function not found",
                                "not reported",
                                "requested functionality has been deprecated"};
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return same(value, word); });
}

std::string_view smi_sick(std::string_view value) {
  constexpr std::array<std::string_view, 6> words = {"GPU is lost",    "Unknown Error",     "GPU requires reset",
                                                     "Reset Required", "Driver Not Loaded", "ERR!"};
  for (const std::string_view word : words)
    if (same(value, lower(word))) return word;
  return {};
}

json smi_fact(SmiKind kind, std::string_view value) {
  if (smi_unknown(value) || !smi_sick(value).empty()) return nullptr;
  switch (kind) {
    case SmiKind::text:
      return std::string(value);
    case SmiKind::word: {
      std::string name = lower(value);
      std::replace(name.begin(), name.end(), ' ', '_');
      return name == "pass-through" ? std::string("passthrough") : name;
    }
    case SmiKind::flag:
      for (const char* yes : {"enabled", "yes", "on", "true"})
        if (same(value, yes)) return true;
      for (const char* no : {"disabled", "no", "off", "false"})
        if (same(value, no)) return false;
      return nullptr;
    case SmiKind::reason:
      if (same(value, "active")) return true;
      return same(value, "not active") ? json(false) : json(nullptr);
    case SmiKind::identifier:
      return hashed(std::string(value));
    case SmiKind::number:
    case SmiKind::sum:
    case SmiKind::mib: {
      // "42 C", "16x", "98.32 W", "40960 MiB", "1"
      const auto found = quantity(value);
      if (!found) return nullptr;
      return kind == SmiKind::mib ? json(found->value * 1048576.0) : json(found->value);
    }
  }
  return nullptr;
}

std::optional<std::string> bus_id(std::string_view text) {
  std::string_view rest = trimmed(text);
  if (rest.starts_with("PCI:")) rest.remove_prefix(4);
  std::array<unsigned, 4> part{};  // domain, bus, device, function
  std::size_t count = 0;
  std::array<char, 4> separator{};
  for (std::size_t at = 0; at < rest.size() && count < part.size(); ++count) {
    std::size_t end = at;
    while (end < rest.size() && std::isxdigit(static_cast<unsigned char>(rest[end])) != 0) ++end;
    if (end == at || end - at > 8) return std::nullopt;
    part[count] = static_cast<unsigned>(std::stoul(std::string(rest.substr(at, end - at)), nullptr, 16));
    separator[count] = end < rest.size() ? rest[end] : '\0';
    at = end + 1;
  }
  const bool domain = count >= 3 && separator[0] == ':' && separator[1] == ':';
  const bool plain = count == 3 && separator[0] == ':' && separator[1] == '.';
  if (domain) return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", part[0], part[1], part[2], part[3]);
  if (plain) return fmt::format("0000:{:02x}:{:02x}.{:x}", part[0], part[1], part[2]);
  return std::nullopt;
}

}  // namespace claimcheck::importing
