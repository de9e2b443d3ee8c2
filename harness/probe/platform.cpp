// Which rented machine this is: cloud-init's instance data on disk first, then DMI strings, then what a provider gives
// its containers; a metadata service is asked only where the first two name its cloud.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "harness/error.h"
#include "harness/probe/metadata.h"
#include "harness/probe/parts.h"
#include "harness/probe/probe.h"
#include "harness/probe/providers.h"

namespace claimcheck {

namespace {

using nlohmann::json;
using probe::Provider;
using probe::Tree;

constexpr double metadata_seconds = 0.3;
constexpr const char* metadata_variable = "CLAIMCHECK_METADATA";
constexpr const char* seconds_variable = "CLAIMCHECK_METADATA_SECONDS";  // of a stand-in on a machine at work

// Places of facts in instance-data.json; the first that says something counts.
constexpr std::array<const char*, 10> type_places{"/ds/dynamic/instance-identity/document/instanceType",  // AWS
                                                  "/ds/meta_data/instance-type",           // AWS, Tencent
                                                  "/ds/meta_data/imds/compute/vmSize",     // Azure
                                                  "/ds/meta_data/instance/instance-type",  // Alibaba
                                                  "/ds/meta_data/shape",                   // Oracle
                                                  "/ds/meta_data/machine-type",            // GCP
                                                  "/ds/meta_data/instance_type",           // Huawei
                                                  "/ds/meta_data/meta/flavor",             // OpenStack
                                                  "/v1/machine_type",
                                                  "/v1/instance_type"};
constexpr std::array<const char*, 2> region_places{"/v1/region", "/ds/meta_data/region_id"};
constexpr std::array<const char*, 2> zone_places{"/v1/availability_zone", "/ds/meta_data/availability_zone"};
// AWS: "spot", "on-demand"; Azure: "Spot", "Regular".
constexpr std::array<const char*, 2> term_places{"/ds/meta_data/instance-life-cycle",
                                                 "/ds/meta_data/imds/compute/priority"};

// The string at `place`, unless it is empty or one of cloud-init's ways to say nothing.
std::optional<std::string> string_at(const json& data, const char* place) {
  const json::json_pointer pointer(place);
  if (!data.contains(pointer) || !data.at(pointer).is_string()) return std::nullopt;
  const std::string value = data.at(pointer).get<std::string>();
  if (value.empty() || value == "unknown" || value == "none" || value == "N/A" || value.rfind("redacted", 0) == 0)
    return std::nullopt;
  return value;
}

template <std::size_t N>
std::optional<std::string> first_at(const json& data, const std::array<const char*, N>& places) {
  for (const char* place : places)
    if (const auto value = string_at(data, place)) return value;
  return std::nullopt;
}

// GCP writes "projects/123/machineTypes/a3-highgpu-8g".
std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

json nothing() {
  return {{"instance", nullptr},    {"provider", nullptr}, {"region", nullptr},
          {"zone", nullptr},        {"spot", nullptr},     {"interruption", nullptr},
          {"instance_id", nullptr}, {"how", "unknown"},    {"certain", nullptr}};
}

void name_provider(json& platform, const Provider& provider, const char* how) {
  platform["provider"] = provider.id;
  platform["certain"] = provider.certain;
  platform["how"] = how;
}

// Its instance id is in clear.
std::optional<json> from_cloud_init(const Tree& tree) {
  const auto text = tree.text("run/cloud-init/instance-data.json", 8 << 20);
  if (!text) return std::nullopt;
  const json data = json::parse(*text, nullptr, false);
  if (!data.is_object()) return std::nullopt;
  json platform = nothing();
  const auto cloud = string_at(data, "/v1/cloud_name");
  for (const Provider& provider : probe::providers())
    for (const std::string_view word : provider.cloud_names)
      if (cloud == word) name_provider(platform, provider, "cloud-init");
  if (cloud == "openstack") platform["provider"] = "openstack";  // whose, DMI may say
  if (const auto type = first_at(data, type_places)) platform["instance"] = last_part(*type);
  if (platform["provider"].is_null() && platform["instance"].is_null()) return std::nullopt;  // "nocloud" and the like
  platform["region"] = probe::known(first_at(data, region_places));
  if (const auto zone = first_at(data, zone_places)) platform["zone"] = last_part(*zone);
  if (const auto term = first_at(data, term_places))
    platform["spot"] = *term == "spot" || *term == "Spot" || *term == "Low";
  platform["instance_id"] = probe::known(string_at(data, "/v1/instance_id"));
  platform["how"] = "cloud-init";
  return platform;
}

json from_dmi(const Tree& tree) {
  json platform = nothing();
  const auto dmi = [&](std::string_view file) { return tree.line("sys/class/dmi/id/" + std::string(file)); };
  for (const Provider& provider : probe::providers()) {
    for (const probe::DmiSign& sign : provider.dmi)
      if (platform["provider"].is_null() && dmi(sign.file).value_or("").rfind(sign.start, 0) == 0)
        name_provider(platform, provider, "dmi");
  }
  // Nitro machines carry their type as product name; the Xen generation says "HVM domU" there.
  const std::string product = dmi("product_name").value_or("");
  if (platform["provider"] == "aws" && product.find('.') != std::string::npos) platform["instance"] = product;
  return platform;
}

// The value of a variable of this process, else of the container's first one: a session over SSH does not inherit it.
// The first process's variables stand one after the other, parted by a byte that Tree reads as '?'.
std::optional<std::string> variable(const Tree& tree, const probe::Environment& environment, std::string_view name) {
  if (const auto found = environment.find(std::string(name)); found != environment.end()) return found->second;
  const std::string all = "?" + tree.text("proc/1/environ", 1 << 16).value_or("");
  const std::string key = "?" + std::string(name) + "=";
  const std::size_t at = all.find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + key.size();
  return all.substr(begin, all.find('?', begin) - begin);
}

json from_marks(const Tree& tree, const probe::Environment& environment) {
  json platform = nothing();
  for (const Provider& provider : probe::providers()) {
    if (!provider.variable.empty() && variable(tree, environment, provider.variable))
      name_provider(platform, provider, "environment");
    if (!provider.file.empty() && tree.exists(provider.file)) name_provider(platform, provider, "files");
    if (!platform["provider"].is_null()) break;
  }
  if (platform["provider"] == "runpod") platform["region"] = probe::known(variable(tree, environment, "RUNPOD_DC_ID"));
  return platform;
}

json from_disk(const Tree& tree, const probe::Environment& environment) {
  const json dmi = from_dmi(tree);
  auto platform = from_cloud_init(tree);
  if (!platform) return dmi["provider"].is_null() ? from_marks(tree, environment) : dmi;
  // cloud-init can name the cloud and not the type, or call it OpenStack where DMI knows the seller.
  if ((*platform)["provider"].is_null() || (*platform)["provider"] == "openstack") {
    (*platform)["provider"] = dmi["provider"].is_null() ? (*platform)["provider"] : dmi["provider"];
    (*platform)["certain"] = dmi["certain"];
  }
  if ((*platform)["instance"].is_null() && (*platform)["provider"] == dmi["provider"])
    (*platform)["instance"] = dmi["instance"];
  return *platform;
}

// Where to ask: "" for nowhere. Only the real machine asks the real service; elsewhere a base must be given.
std::string base_of(const ProbeOptions& options, const probe::Environment& environment, const std::string& provider) {
  const auto found = environment.find(metadata_variable);
  const std::string given = found == environment.end() ? "" : found->second;
  if (given == "off") return "";
  if (given.empty()) return options.root == "/" ? probe::metadata_base(provider) : "";
  if (given.rfind("http://127.0.0.1:", 0) != 0 || given.find_first_of("/@?#", 17) != std::string::npos)
    throw UserError(
        fmt::format("{}={}: expected off, or http://127.0.0.1:PORT of a service that stands in for the "
                    "cloud's",
                    metadata_variable, given));
  return given;
}

double seconds_for(const probe::Environment& environment, const std::string& base, const std::string& provider) {
  const auto found = environment.find(seconds_variable);
  if (found == environment.end() || base == probe::metadata_base(provider)) return metadata_seconds;
  const auto whole = probe::integer_from(found->second);
  if (whole && *whole >= 1 && *whole <= 60) return static_cast<double>(*whole);
  throw UserError(fmt::format("{}={}: expected whole seconds, 1 to 60", seconds_variable, found->second));
}

// What the service says now goes before what the disk says: cloud-init keeps an instance type over a change of it.
void ask_service(json& platform, const ProbeOptions& options, const probe::Environment& environment) {
  if (!platform["provider"].is_string()) return;
  const std::string name = platform["provider"];
  const Provider* provider = probe::find_provider(name);
  if (provider == nullptr || !provider->metadata || !provider->certain) return;
  const std::string base = base_of(options, environment, name);
  if (base.empty()) return;
  const probe::MetadataAnswer answer =
      probe::ask_metadata(name, base, probe::bounded_fetch(seconds_for(environment, base, name)));
  json& record = platform["metadata"];
  record = {{"service", answer.service}, {"status", answer.status}, {"reason", answer.reason}};
  if (answer.status != "answered") return;
  const json before = platform["instance"];
  for (const auto& [key, value] : answer.facts.items())
    if (!value.is_null()) platform[key] = value;
  if (before.is_string() && before != platform["instance"]) record["instance_on_disk"] = before;
  if (before != platform["instance"]) platform["how"] = "metadata";
}

}  // namespace

std::string how_identified(const std::string& provider) {
  const Provider* found = probe::find_provider(provider);
  if (found == nullptr) return "--instance";
  std::string ways;
  const auto add = [&](bool yes, const char* way) {
    if (yes) ways += (ways.empty() ? "" : ", ") + std::string(way);
  };
  add(!found->cloud_names.empty(), "cloud-init");
  add(!found->dmi.empty(), "DMI");
  add(found->metadata, "metadata");
  add(!found->variable.empty(), "environment (seller only)");
  add(!found->file.empty(), "files (seller only)");
  return found->certain ? ways : ways + " (not certain)";
}

nlohmann::json probe_platform(const ProbeOptions& options) {
  const Tree tree(options.root);
  const probe::Environment environment = options.environment ? *options.environment : probe::environment_of_process();
  json platform = from_disk(tree, environment);
  platform["metadata"] = nullptr;
  ask_service(platform, options, environment);
  json& id = platform["instance_id"];
  if (id.is_string() && !options.keep_identifiers) id = hashed(id.get<std::string>());
  return platform;
}

}  // namespace claimcheck
