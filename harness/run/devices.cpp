#include "harness/run/devices.h"

#include <string>

#include "harness/probe/probe.h"

namespace claimcheck {
namespace {

using nlohmann::json;

json member(const json& object, const char* key, json otherwise) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->type() == otherwise.type() ? *found : otherwise;
}

void hash_identifiers(json& devices) {
  for (json& device : devices) {
    if (!device.is_object()) continue;
    for (const char* key : {"uuid", "serial"}) {
      if (const auto found = device.find(key); found != device.end() && found->is_string()) {
        *found = hashed(found->get<std::string>());
      }
    }
  }
}

// Free memory and clocks differ from look to look.
json who(const json& system) {
  json names = json::array();
  for (const json& device : member(system, "devices", json::array())) {
    names.push_back(device.is_object() ? json{member(device, "name", ""), member(device, "uuid", "")} : json());
  }
  const json worker = member(member(system, "software", json::object()), "worker", json::object());
  return {names, member(worker, "left_out", "")};
}

}  // namespace

bool take_description(json& system, const json& description, bool keep_identifiers) {
  const json before = who(system);
  system["devices"] = member(description, "devices", json::array());
  if (!keep_identifiers) hash_identifiers(system["devices"]);
  system["software"]["worker"] = member(description, "platform", json::object());
  return who(system) != before;
}

}  // namespace claimcheck
