#include "kernels/cuda/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace claimcheck::kernels::cuda {

namespace {

constexpr std::array<std::string_view, 5> path_names = {"PIX", "PXB", "PHB", "NODE", "SYS"};  // from near to far

bool is_host_bridge(hwloc_obj_t object) {
  return object->type == HWLOC_OBJ_BRIDGE && object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
}

int steps_up(hwloc_obj_t from, hwloc_obj_t to) {
  int steps = 0;
  for (hwloc_obj_t at = from; at != nullptr && at != to; at = at->parent) ++steps;
  return steps;
}

// hwloc's own search for a common ancestor does not go through I/O objects.
hwloc_obj_t common_ancestor(hwloc_obj_t one, hwloc_obj_t other) {
  for (hwloc_obj_t up = one; up != nullptr; up = up->parent)
    for (hwloc_obj_t at = other; at != nullptr; at = at->parent)
      if (at == up) return up;
  return nullptr;
}

// Index into path_names.
std::size_t distance(hwloc_obj_t one, hwloc_obj_t other) {
  const hwloc_obj_t meeting = common_ancestor(one, other);
  if (meeting == nullptr) return 4;
  if (is_host_bridge(meeting)) return 2;
  if (meeting->type == HWLOC_OBJ_BRIDGE || meeting->type == HWLOC_OBJ_PCI_DEVICE) {
    // One switch: from a device through the port it is plugged into to the port towards the CPU.
    return std::max(steps_up(one, meeting), steps_up(other, meeting)) <= 2 ? 0 : 1;
  }
  return meeting->nodeset != nullptr && hwloc_bitmap_weight(meeting->nodeset) > 1 ? 4 : 3;
}

std::vector<std::string> adapter_names(hwloc_obj_t pci) {
  std::vector<std::string> rdma;
  std::vector<std::string> network;
  for (hwloc_obj_t child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type != HWLOC_OBJ_OS_DEVICE || child->name == nullptr) continue;
    if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) rdma.emplace_back(child->name);
    if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK) network.emplace_back(child->name);
  }
  return rdma.empty() ? network : rdma;
}

}  // namespace

struct Topology::Loaded {
  hwloc_topology_t topology = nullptr;
  bool usable = false;

  hwloc_obj_t find(const std::string& bus_id) const {
    return usable ? hwloc_get_pcidev_by_busidstring(topology, bus_id.c_str()) : nullptr;
  }
};

Topology::Topology(const std::string& xml) : loaded_(std::make_unique<Loaded>()) {
  if (hwloc_topology_init(&loaded_->topology) != 0) {
    loaded_->topology = nullptr;
    return;
  }
  hwloc_topology_t topology = loaded_->topology;
  // These plugins would start drivers, and make contexts on the GPUs that are to be measured.
  for (const char* plugin : {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"})
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (!xml.empty() && hwloc_topology_set_xmlbuffer(topology, xml.c_str(), static_cast<int>(xml.size() + 1)) != 0)
    return;
  loaded_->usable = hwloc_topology_load(topology) == 0;
}

Topology::~Topology() {
  if (loaded_->topology != nullptr) hwloc_topology_destroy(loaded_->topology);
}

std::string Topology::path(const std::string& bus_id, const std::string& other_bus_id) const {
  const hwloc_obj_t one = loaded_->find(bus_id);
  const hwloc_obj_t other = loaded_->find(other_bus_id);
  return one == nullptr || other == nullptr ? "" : std::string(path_names[distance(one, other)]);
}

std::vector<NearNic> Topology::nearest_nics(const std::string& bus_id) const {
  const hwloc_obj_t device = loaded_->find(bus_id);
  if (device == nullptr) return {};
  std::vector<NearNic> nearest;
  std::size_t shortest = path_names.size();
  for (hwloc_obj_t pci = hwloc_get_next_pcidev(loaded_->topology, nullptr); pci != nullptr;
       pci = hwloc_get_next_pcidev(loaded_->topology, pci)) {
    const std::vector<std::string> names = adapter_names(pci);
    const std::size_t length = distance(device, pci);
    if (names.empty() || length > shortest) continue;
    if (length < shortest) nearest.clear();
    shortest = length;
    for (const std::string& name : names) nearest.push_back({name, std::string(path_names[length])});
  }
  std::sort(nearest.begin(), nearest.end(), [](const NearNic& a, const NearNic& b) { return a.name < b.name; });
  return nearest;
}

}  // namespace claimcheck::kernels::cuda
