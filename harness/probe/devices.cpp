// GPUs on the PCI bus, network interfaces and disks, from sysfs and the NVIDIA driver's /proc entries.
#include <array>
#include <cctype>

#include "harness/probe/parts.h"

namespace claimcheck::probe {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Display and 3D controllers are 03xx; AMD's Instinct cards call themselves processing accelerators (1200).
const char* gpu_vendor(std::string_view vendor, std::string_view device_class) {
  const bool display = device_class.rfind("0x0300", 0) == 0 || device_class.rfind("0x0302", 0) == 0;
  if (vendor == "0x10de" && display) return "nvidia";
  const bool accelerator = device_class.rfind("0x0380", 0) == 0 || device_class.rfind("0x1200", 0) == 0;
  if (vendor == "0x1002" && (display || accelerator)) return "amd";
  return nullptr;
}

// Name of a device in the pci.ids file of Debian's package of that name: vendors start a line, devices follow after a
// tab, both as "number  name".
std::optional<std::string> name_in_pci_ids(const std::string& pci_ids, const std::string& vendor,
                                           const std::string& device) {
  bool inside = false;
  for (const std::string_view line : lines_of(pci_ids)) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != '\t') {
      if (inside) return std::nullopt;
      inside = line.rfind(vendor, 0) == 0;
    } else if (inside && line.substr(1).rfind(device, 0) == 0) {
      return std::string(trimmed(line.substr(1 + device.size())));
    }
  }
  return std::nullopt;
}

// "Model: NVIDIA H100 80GB HBM3" of /proc/driver/nvidia/gpus/0000:17:00.0/information.
std::optional<std::string> name_from_driver(const Tree& tree, const std::string& address) {
  const std::string information = tree.text("proc/driver/nvidia/gpus/" + lower(address) + "/information").value_or("");
  const auto model = value_of(information, "Model");
  if (!model || model->empty()) return std::nullopt;
  return std::string(*model);
}

// "400 Gb/sec (4X NDR)" -> 400.
nlohmann::json rate_gbps(const std::optional<std::string>& rate) {
  if (!rate) return nullptr;
  const std::string_view number = std::string_view(*rate).substr(0, rate->find(' '));
  const auto whole = integer_from(number.substr(0, number.find('.')));
  return whole && rate->find("Gb/sec") != std::string::npos ? nlohmann::json(*whole) : nlohmann::json(nullptr);
}

nlohmann::json fabric_nic(const Tree& tree, const std::string& name) {
  const std::string base = "sys/class/infiniband/" + name;
  const auto driver = tree.link_name(base + "/device/driver");
  const auto layer = tree.line(base + "/ports/1/link_layer");
  const auto state = tree.line(base + "/ports/1/state");  // "4: ACTIVE"
  std::string kind = "infiniband";
  if (driver == "efa" || name.rfind("efa", 0) == 0 || name.rfind("rdmap", 0) == 0)
    kind = "efa";
  else if (layer && lower(*layer) == "ethernet")
    kind = "roce";
  nlohmann::json nic = {{"name", name},
                        {"kind", kind},
                        {"driver", known(driver)},
                        {"speed_gbps", rate_gbps(tree.line(base + "/ports/1/rate"))},
                        {"state", nullptr}};
  if (state) nic["state"] = lower(std::string(trimmed(std::string_view(*state).substr(state->find(':') + 1))));
  return nic;
}

}  // namespace

nlohmann::json pci_gpus(const Tree& tree) {
  nlohmann::json gpus = nlohmann::json::array();
  std::optional<std::string> pci_ids;
  for (const std::string& address : tree.children("sys/bus/pci/devices")) {
    const std::string base = "sys/bus/pci/devices/" + address;
    const std::string vendor = lower(tree.line(base + "/vendor").value_or(""));
    const char* const vendor_name = gpu_vendor(vendor, lower(tree.line(base + "/class").value_or("")));
    if (vendor_name == nullptr) continue;
    const std::string device = lower(tree.line(base + "/device").value_or(""));
    auto name = name_from_driver(tree, address);
    if (!name && device.size() == 6) {
      if (!pci_ids) pci_ids = tree.text("usr/share/misc/pci.ids", 4 << 20).value_or("");
      name = name_in_pci_ids(*pci_ids, vendor.substr(2), device.substr(2));
    }
    gpus.push_back({{"address", address},
                    {"vendor", vendor_name},
                    {"device", device},
                    {"name", known(name)},
                    {"driver", known(tree.link_name(base + "/driver"))},
                    {"link_width", known(tree.number(base + "/current_link_width"))},
                    {"link_width_max", known(tree.number(base + "/max_link_width"))},
                    {"link_speed", known(tree.line(base + "/current_link_speed"))},
                    {"numa_node", known(tree.number(base + "/numa_node"))}});
  }
  return gpus;
}

nlohmann::json nics(const Tree& tree) {
  nlohmann::json found = nlohmann::json::array();
  for (const std::string& name : tree.children("sys/class/net")) {
    const std::string base = "sys/class/net/" + name;
    if (!tree.exists(base + "/device")) continue;    // lo, bridges, veth: no hardware behind them
    const auto mbps = tree.number(base + "/speed");  // -1 or unreadable when the link is down or virtual
    nlohmann::json nic = {{"name", name},
                          {"kind", "ethernet"},
                          {"driver", known(tree.link_name(base + "/device/driver"))},
                          {"speed_gbps", nullptr},
                          {"state", known(tree.line(base + "/operstate"))}};
    if (mbps && *mbps > 0) nic["speed_gbps"] = static_cast<double>(*mbps) / 1000;
    found.push_back(nic);
  }
  for (const std::string& name : tree.children("sys/class/infiniband")) found.push_back(fabric_nic(tree, name));
  return found;
}

nlohmann::json disks(const Tree& tree) {
  static constexpr std::array<std::string_view, 7> no_disk{"loop", "ram", "zram", "sr", "fd", "dm-", "nbd"};
  nlohmann::json found = nlohmann::json::array();
  for (const std::string& name : tree.children("sys/block")) {
    bool skip = false;
    for (const std::string_view prefix : no_disk) skip = skip || name.rfind(prefix, 0) == 0;
    if (skip) continue;
    const std::string base = "sys/block/" + name;
    const auto sectors = tree.number(base + "/size");  // always of 512 bytes
    const auto rotational = tree.number(base + "/queue/rotational");
    nlohmann::json disk = {{"name", name},
                           {"model", known(tree.line(base + "/device/model"))},
                           {"bytes", nullptr},
                           {"rotational", nullptr}};
    if (sectors && *sectors >= 0 && *sectors < (std::int64_t{1} << 50)) disk["bytes"] = *sectors * 512;
    if (rotational) disk["rotational"] = *rotational != 0;
    found.push_back(disk);
  }
  return found;
}

}  // namespace claimcheck::probe
