#include "harness/import/nvbandwidth_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "harness/import/cuda_errors.h"
#include "harness/import/fields.h"
#include "harness/report/quantity.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

enum class Shape { per_gpu, pairs };

struct Mapping {
  std::string_view name;  // without _ce or _sm
  std::string_view metric;
  std::string_view variant;  // of the id
  Shape shape;
  double factor = 1;     // to our definition
  bool in_turn = false;  // one GPU after the other
};
// What is the sum of both directions with us is one direction under load here, and has an id of its own.
constexpr std::array<Mapping, 12> mappings = {{
    {"host_to_device_memcpy", "host_link.h2d.gbps", "", Shape::per_gpu, 1, true},
    {"device_to_host_memcpy", "host_link.d2h.gbps", "", Shape::per_gpu, 1, true},
    {"host_to_device_bidirectional_memcpy", "host_link.h2d.gbps", "/other_direction_busy", Shape::per_gpu},
    {"device_to_host_bidirectional_memcpy", "host_link.d2h.gbps", "/other_direction_busy", Shape::per_gpu},
    {"host_to_all_memcpy", "host_link.h2d.gbps", "/others_busy", Shape::per_gpu},
    {"all_to_host_memcpy", "host_link.d2h.gbps", "/others_busy", Shape::per_gpu},
    {"host_to_all_bidirectional_memcpy", "host_link.h2d.gbps", "/all_busy", Shape::per_gpu},
    {"all_to_host_bidirectional_memcpy", "host_link.d2h.gbps", "/all_busy", Shape::per_gpu},
    {"device_to_device_memcpy_read", "p2p.read.gbps", "", Shape::pairs},
    {"device_to_device_memcpy_write", "p2p.write.gbps", "", Shape::pairs},
    // The payload counts once there; reading and writing it moves twice that.
    {"device_local_copy", "memory.copy.gbps", "", Shape::per_gpu, 2},
    {"device_to_device_bidirectional_memcpy_read", "p2p.bidirectional.gbps", "", Shape::pairs},
}};

std::string bare_name(const std::string& name) {
  for (const char* end : {"_ce", "_sm"})
    if (name.ends_with(end)) return name.substr(0, name.size() - 3);
  return name;
}

const Mapping* mapping_of(const std::string& name) {
  const std::string bare = bare_name(name);
  const auto found =
      std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& mapping) { return mapping.name == bare; });
  return found == mappings.end() ? nullptr : &*found;
}

bool between_devices(const std::string& name) { return name.starts_with("device_to_device"); }

std::vector<double> values_of(const Cells& cells) {
  std::vector<double> values;
  for (const auto& row : cells)
    for (const auto& cell : row)
      if (cell) values.push_back(*cell);
  return values;
}

// Of one GPU: the slowest cell of its column.
std::vector<DeviceValue> per_gpu(const Cells& cells, double factor) {
  std::vector<DeviceValue> devices;
  for (const auto& row : cells)
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (devices.size() <= column) devices.resize(column + 1);
      devices[column].index = static_cast<int>(column);
      if (row[column] && (!devices[column].value || *row[column] * factor < *devices[column].value))
        devices[column].value = *row[column] * factor;
    }
  return devices;
}

json matrix_json(const Cells& cells) {
  json matrix = json::array();
  for (const auto& row : cells) {
    json line = json::array();
    for (const auto& cell : row) line.push_back(cell ? json(*cell) : json(nullptr));
    matrix.push_back(line);
  }
  return matrix;
}

// Devices that reach each other, directly or by way of others.
std::vector<std::vector<std::size_t>> groups_of(const Cells& cells) {
  std::vector<std::size_t> group(cells.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (std::size_t pass = 0; pass < cells.size(); ++pass)
    for (std::size_t row = 0; row < cells.size(); ++row)
      for (std::size_t column = 0; column < cells[row].size() && column < cells.size(); ++column)
        if (row != column && cells[row][column]) group[row] = group[column] = std::min(group[row], group[column]);
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t first = 0; first < cells.size(); ++first) {
    std::vector<std::size_t> members;
    for (std::size_t device = 0; device < cells.size(); ++device)
      if (group[device] == first) members.push_back(device);
    if (!members.empty()) groups.push_back(members);
  }
  return groups;
}

void report_missing_pairs(Collected& collected, const NvbandwidthTest& test) {
  const std::size_t side = test.cells.size();
  std::size_t measured = 0;
  for (std::size_t row = 0; row < side; ++row)
    for (std::size_t column = 0; column < test.cells[row].size(); ++column)
      if (row != column && test.cells[row][column]) ++measured;
  const std::size_t all = side * (side - 1);
  if (side < 2 || measured == 0 || measured >= all) return;
  std::string groups;
  for (const auto& members : groups_of(test.cells))
    groups += fmt::format("{}{{{}}}", groups.empty() ? "" : ", ", fmt::join(members, ", "));
  collected.add(
      Finding{"import.partial_peer_access",
              "warning",
              fmt::format("Only {} of {} ordered pairs of GPUs reach each other's memory, in the groups {}.", measured,
                          all, groups),
              "NCCL goes through host memory between the groups; a claim that all GPUs are connected does not hold.",
              {{"pairs", measured}, {"of", all}}});
}

void check_shape(Collected& collected, const NvbandwidthTest& test, std::optional<std::size_t> devices) {
  if (devices) {
    const std::size_t columns = test.cells.empty() ? 0 : test.cells.front().size();
    const std::size_t rows = between_devices(test.name) ? *devices : 1;
    if (columns > *devices || test.cells.size() > rows)
      collected.add(Finding{"import.shape",
                            "warning",
                            fmt::format("{} has a matrix of {} x {}, but the output lists {} device{}: was it edited?",
                                        test.name, test.cells.size(), columns, *devices, *devices == 1 ? "" : "s"),
                            "Import the output as the tool wrote it.",
                            {}});
  }
  const std::vector<double> values = values_of(test.cells);
  if (!test.sum || values.empty()) return;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (std::abs(sum - *test.sum) > 0.01 * std::max(sum, *test.sum))
    collected.add(Finding{"import.sum",
                          "warning",
                          fmt::format("{}: SUM says {}, but the cells add up to {}; the cells count.", test.name,
                                      number_text(*test.sum), number_text(sum)),
                          "Import the output as the tool wrote it.",
                          {}});
}

Measurement begun(const NvbandwidthTest& test, const Mapping& mapping) {
  Measurement measurement;
  const std::string metric(mapping.metric);
  measurement.id = fmt::format("{}{}{}", metric.substr(0, metric.rfind('.')), mapping.variant,
                               test.name.ends_with("_sm") ? "/sm" : "");
  measurement.metric = metric;
  measurement.unit = "GB/s";
  measurement.conditions = {{"method", "nvbandwidth"}, {"test", test.name}};
  measurement.evidence = json::object();
  if (mapping.in_turn) measurement.conditions["devices_at_once"] = 1;
  if (test.line > 0) measurement.evidence["line"] = test.line;
  if (test.sum) measurement.evidence["sum_gbps"] = *test.sum;
  return measurement;
}

void report_waived(Collected& collected, const NvbandwidthTest& test, const Mapping* mapping,
                   std::optional<std::size_t> devices) {
  const std::size_t known = devices.value_or(collected.devices().size());  // 0: of nobody knows how many
  const bool several = known != 1;
  const bool peer = between_devices(test.name) && several;
  if (peer)
    collected.add(Finding{"import.no_peer_access",
                          "warning",
                          "nvbandwidth waived its tests between GPUs: none reaches another's memory.",
                          "nvidia-smi topo -p2p r says why; IOMMU, ACS or the virtual machine is in the way. A claim "
                          "of NVLink or P2P does not hold.",
                          {}});
  if (mapping == nullptr) return;
  Measurement measurement = begun(test, *mapping);
  measurement.status = Outcome::unsupported;
  // What a claim of peer access is answered with (harness/judge/numeric.h).
  if (peer && known > 1) measurement.evidence["peer_access"] = false;
  measurement.reason = peer ? "nvbandwidth waived it: no peer access between the GPUs"
                            : "nvbandwidth waived it: it does not apply to this machine";
  collected.add(measurement);
}

// "NVIDIA A40-2Q": gigabytes and the kind of a profile of NVIDIA vGPU; "A100-SXM4-80GB" is none.
bool is_vgpu_profile(const std::string& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash + 2 >= name.size()) return false;
  const bool digits = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dash) + 1, name.end() - 1,
                                  [](char c) { return c >= '0' && c <= '9'; });
  return digits && std::string_view("QCBA").find(name.back()) != std::string_view::npos;
}

}  // namespace

void report_nvbandwidth(Collected& collected, const NvbandwidthTest& test, std::optional<std::size_t> devices) {
  const Mapping* mapping = mapping_of(test.name);
  if (test.waived) {
    report_waived(collected, test, mapping, devices);
    return;
  }
  if (mapping == nullptr) {
    collected.note(fmt::format("{}: read, but none of our metrics means the same", test.name));
    return;
  }
  Measurement measurement = begun(test, *mapping);
  if (test.mismatch || !test.failure.empty()) {
    measurement.status = test.mismatch ? Outcome::wrong_result : Outcome::failed;
    measurement.reason = test.mismatch ? "nvbandwidth found wrong data after the copy" : test.failure;
    collected.add(measurement);
    return;
  }
  const std::vector<double> values = values_of(test.cells);
  if (values.empty()) return;
  check_shape(collected, test, devices);
  // Old versions list no devices: the matrix has a column for each.
  if (!devices)
    for (std::size_t column = 0; column < test.cells.front().size(); ++column)
      collected.device(static_cast<int>(column), json::object());
  measurement.status = Outcome::ok;
  measurement.value = *std::min_element(values.begin(), values.end()) * mapping->factor;
  if (mapping->shape == Shape::per_gpu) {
    measurement.devices = per_gpu(test.cells, mapping->factor);
  } else {
    measurement.evidence["matrix_gbps"] = matrix_json(test.cells);
    report_missing_pairs(collected, test);
  }
  if (mapping->factor != 1) {
    measurement.evidence["payload_gbps"] = *measurement.value / mapping->factor;
    collected.note(
        fmt::format("{} counts the payload once; memory moved twice that, which is what claims mean", test.name));
  }
  collected.add(measurement);
}

bool nvbandwidth_device(Collected& collected, std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto index = colon == std::string_view::npos ? std::nullopt : number(trimmed(text.substr(0, colon)));
  if (!index || *index < 0 || *index > 1000) return false;
  std::string_view rest = trimmed(text.substr(colon + 1));
  json facts = json::object();
  // "NVIDIA H200 (00000000:8f:00): (node-1)"
  const std::size_t bracket = rest.find(" (");
  const std::string name(rest.substr(0, bracket));
  if (bracket != std::string_view::npos) {
    const std::size_t end = rest.find(')', bracket);
    if (end != std::string_view::npos) facts["pci_bus_id"] = std::string(rest.substr(bracket + 2, end - bracket - 2));
  }
  if (is_vgpu_profile(name)) {
    facts["virtualization"] = "vgpu";
    collected.add(
        Finding{"import.vgpu",
                "info",
                fmt::format("{} is a vGPU profile: a slice of a card, whose memory and turns others share.", name),
                "Claims on a whole card do not hold for it; judge it by its share.",
                {{"profile", name}}});
  }
  collected.device(static_cast<int>(*index), {{"name", name}, {"facts", facts}});
  return true;
}

void nvbandwidth_error(Collected& collected, std::string_view text) {
  if (contains(text, "h_errorFlag") || contains(text, "Invalid value when checking the pattern") ||
      contains(text, "memcmpPattern")) {
    collected.add(Finding{"import.data_mismatch",
                          "error",
                          "nvbandwidth found wrong data after a copy: the machine corrupts data.",
                          "Look for Xid in dmesg, switch IOMMU and ACS off or use the provider's image; do not use the "
                          "machine until it passes.",
                          {}});
    return;
  }
  const std::size_t expression = text.find(" in expression ");
  collected.add(cuda_error_finding(text.substr(0, expression)));
}

void nvbandwidth_versions(Collected& collected, std::optional<double> runtime, std::optional<double> driver) {
  if (!runtime || !driver || *runtime <= *driver) return;
  const auto version = [](double code) {
    return fmt::format("{:.0f}.{:.0f}", std::floor(code / 1000), std::floor(std::fmod(code, 1000) / 10));
  };
  collected.note(fmt::format("CUDA runtime {} on a driver for CUDA {}: works by minor-version compatibility",
                             version(*runtime), version(*driver)));
}

}  // namespace claimcheck::importing
