// What two documents say of the machine around the measurements. They are open objects: what is missing or odd in them
// is unknown, and unknown differs from nothing.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/compare/comparable.h"

namespace claimcheck::compare {
namespace {

using nlohmann::json;

json at(const json& value, const std::string& pointer) {
  const json::json_pointer place(pointer);
  return value.contains(place) ? value.at(place) : json();
}

std::string as_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_primitive() && !value.is_null() ? value.dump() : std::string();
}

std::string text_at(const json& value, const std::string& pointer) { return as_text(at(value, pointer)); }

json devices_of(const Document& document) {
  json devices = at(document.system, "/devices");
  return devices.is_array() ? devices : json::array();
}

// Names of the devices, sorted, each once: a machine with fewer of the same kind can still be compared.
std::vector<std::string> models(const Document& document) {
  std::vector<std::string> names;
  for (const json& device : devices_of(document)) {
    std::string name = text_at(device, "/name");
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Differences {
 public:
  void add(const std::string& what, const std::string& before, const std::string& after) {
    if (before == after || before.empty() || after.empty()) return;
    found.push_back(fmt::format("{}: {}, now {}", what, before, after));
  }
  std::vector<std::string> found;
};

// Versions of packages and libraries, by the name either document gives them.
void add_software(const json& before, const json& after, Differences& differences) {
  if (!before.is_object() || !after.is_object()) return;
  for (const auto& [name, value] : before.items()) {
    if (value.is_object()) {
      add_software(value, after.value(name, json()), differences);
    } else if (after.contains(name)) {
      differences.add(name, as_text(value), as_text(after.at(name)));
    }
  }
}

// Facts of the devices that decide how fast they may be; one line for those that changed alike.
void add_device_facts(const Document& before, const Document& after, Differences& differences) {
  const json old_devices = devices_of(before);
  const json new_devices = devices_of(after);
  for (const char* fact :
       {"power_limit_w", "ecc_enabled", "mig_enabled", "max_sm_clock_mhz", "persistence_mode", "virtualization"}) {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> moved;
    const std::size_t count = std::min(old_devices.size(), new_devices.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string place = std::string("/facts/") + fact;
      const auto pair = std::pair(text_at(old_devices[i], place), text_at(new_devices[i], place));
      if (pair.first != pair.second && !pair.first.empty() && !pair.second.empty()) moved[pair].push_back(i);
    }
    for (const auto& [pair, which] : moved) {
      const std::string of = which.size() == count ? "all devices"
                             : which.size() == 1   ? fmt::format("device {}", which.front())
                                                   : fmt::format("{} devices", which.size());
      differences.add(fmt::format("{} of {}", fact, of), pair.first, pair.second);
    }
  }
}

std::string instance_of(const Document& document) {
  const std::string provider = text_at(document.platform, "/provider");
  const std::string instance = text_at(document.platform, "/instance");
  return provider.empty() || instance.empty() ? instance : provider + ":" + instance;
}

}  // namespace

std::string devices_text(const Document& document) {
  std::vector<std::pair<std::string, int>> counts;
  for (const json& device : devices_of(document)) {
    const std::string name = text_at(device, "/name");
    const auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& count) { return count.first == name; });
    if (known == counts.end()) {
      counts.emplace_back(name, 1);
    } else {
      ++known->second;
    }
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += " + ";
    text += count > 1 ? fmt::format("{} x {}", count, name) : name;
  }
  return text.empty() ? "no device" : text;
}

std::string documents_differ(const Document& before, const Document& after) {
  if (before.is_virtual != after.is_virtual) {
    return fmt::format("{} is of a virtual machine of the test suite and {} of a real one",
                       before.is_virtual ? "the baseline" : "this result",
                       before.is_virtual ? "this result" : "the baseline");
  }
  if (models(before) != models(after)) {
    return fmt::format("the devices are others: {}, now {}", devices_text(before), devices_text(after));
  }
  return {};
}

std::vector<std::string> surroundings_that_differ(const Document& before, const Document& after) {
  Differences differences;
  differences.add("instance", instance_of(before), instance_of(after));
  differences.add("devices", devices_text(before), devices_text(after));
  differences.add("host", text_at(before.system, "/host"), text_at(after.system, "/host"));
  differences.add("nvidia driver", text_at(before.system, "/nvidia_driver"), text_at(after.system, "/nvidia_driver"));
  differences.add("kernel", text_at(before.system, "/kernel"), text_at(after.system, "/kernel"));
  differences.add("cpu", text_at(before.system, "/cpu/model"), text_at(after.system, "/cpu/model"));
  differences.add("usable cores", text_at(before.system, "/cpu/usable_cores"),
                  text_at(after.system, "/cpu/usable_cores"));
  differences.add("claimcheck", text_at(before.run, "/claimcheck"), text_at(after.run, "/claimcheck"));
  differences.add("worker", text_at(before.run, "/worker/kind"), text_at(after.run, "/worker/kind"));
  differences.add("profile", text_at(before.run, "/profile"), text_at(after.run, "/profile"));
  differences.add("shortest repetition", text_at(before.run, "/options/min_time_seconds"),
                  text_at(after.run, "/options/min_time_seconds"));
  add_device_facts(before, after, differences);
  add_software(at(before.system, "/software"), at(after.system, "/software"), differences);
  add_software(at(before.system, "/environment"), at(after.system, "/environment"), differences);
  return differences.found;
}

}  // namespace claimcheck::compare
