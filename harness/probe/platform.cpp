// Which rented machine this is: cloud-init's instance data on disk first, then DMI strings. No network.
#include <array>
#include <set>
#include <utility>

#include "harness/probe/parts.h"
#include "harness/probe/probe.h"

namespace claimcheck {

namespace {

using nlohmann::json;
using probe::Tree;

// cloud-init's words for clouds (cloud_name) and the catalog's.
constexpr std::array<std::pair<std::string_view, const char*>, 12> cloud_names{{{"aws", "aws"},
                                                                                {"ec2", "aws"},
                                                                                {"azure", "azure"},
                                                                                {"gce", "gcp"},
                                                                                {"gcp", "gcp"},
                                                                                {"aliyun", "alibaba"},
                                                                                {"alibaba", "alibaba"},
                                                                                {"tencent", "tencent"},
                                                                                {"huawei", "huawei"},
                                                                                {"oracle", "oci"},
                                                                                {"lambda", "lambda"},
                                                                                {"openstack", "openstack"}}};

// Places of the instance type in instance-data.json, one or two a cloud.
constexpr std::array<const char*, 9> type_places{"/ds/dynamic/instance-identity/document/instanceType",  // AWS
                                                 "/ds/meta_data/instance-type",                          // AWS, Tencent
                                                 "/ds/meta_data/imds/compute/vmSize",                    // Azure
                                                 "/ds/meta_data/instance/instance-type",                 // Alibaba
                                                 "/ds/meta_data/shape",                                  // Oracle
                                                 "/ds/meta_data/machine-type",                           // GCP
                                                 "/ds/meta_data/meta/flavor",                            // OpenStack
                                                 "/v1/machine_type",
                                                 "/v1/instance_type"};

// The string at `place`, unless it is empty or one of cloud-init's ways to say nothing.
std::optional<std::string> string_at(const json& data, const char* place) {
  const json::json_pointer pointer(place);
  if (!data.contains(pointer) || !data.at(pointer).is_string()) return std::nullopt;
  const std::string value = data.at(pointer).get<std::string>();
  if (value.empty() || value == "unknown" || value == "none" || value == "N/A" || value.rfind("redacted", 0) == 0)
    return std::nullopt;
  return value;
}

// GCP writes "projects/123/machineTypes/a3-highgpu-8g".
std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

json nothing() {
  return {{"instance", nullptr}, {"provider", nullptr},    {"region", nullptr},
          {"zone", nullptr},     {"instance_id", nullptr}, {"how", "unknown"}};
}

std::optional<json> from_cloud_init(const Tree& tree, bool keep_identifiers) {
  const auto text = tree.text("run/cloud-init/instance-data.json", 8 << 20);
  if (!text) return std::nullopt;
  const json data = json::parse(*text, nullptr, false);
  if (!data.is_object()) return std::nullopt;
  json platform = nothing();
  const auto cloud = string_at(data, "/v1/cloud_name");
  for (const auto& [word, provider] : cloud_names)
    if (cloud == word) platform["provider"] = provider;
  for (const char* place : type_places) {
    if (const auto type = string_at(data, place)) {
      platform["instance"] = last_part(*type);
      break;
    }
  }
  if (platform["provider"].is_null() && platform["instance"].is_null()) return std::nullopt;  // "nocloud" and the like
  platform["region"] = probe::known(string_at(data, "/v1/region"));
  if (const auto zone = string_at(data, "/v1/availability_zone")) platform["zone"] = last_part(*zone);
  if (const auto id = string_at(data, "/v1/instance_id"))
    platform["instance_id"] = keep_identifiers ? *id : hashed(*id);
  platform["how"] = "cloud-init";
  return platform;
}

struct Sign {
  const char* file;
  std::string_view start;  // of the string in that file
  const char* provider;
};

// Strings the clouds write into DMI. Azure's asset tag is "MSFT AZURE VM" as character codes; Hyper-V elsewhere has the
// same vendor and product but not that tag.
constexpr std::array<Sign, 12> signs{{{"sys_vendor", "Amazon EC2", "aws"},
                                      {"bios_version", "4.2.amazon", "aws"},  // Xen generation
                                      {"bios_vendor", "Amazon EC2", "aws"},
                                      {"chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure"},
                                      {"product_name", "Google Compute Engine", "gcp"},
                                      {"sys_vendor", "Google", "gcp"},
                                      {"sys_vendor", "Alibaba Cloud", "alibaba"},
                                      {"product_name", "Alibaba Cloud ECS", "alibaba"},
                                      {"sys_vendor", "Tencent Cloud", "tencent"},
                                      {"sys_vendor", "Huawei Cloud", "huawei"},
                                      {"chassis_asset_tag", "HUAWEICLOUD", "huawei"},
                                      {"chassis_asset_tag", "OracleCloud.com", "oci"}}};

json from_dmi(const Tree& tree) {
  json platform = nothing();
  const auto dmi = [&](const char* file) { return tree.line(std::string("sys/class/dmi/id/") + file); };
  for (const Sign& sign : signs) {
    if (dmi(sign.file).value_or("").rfind(sign.start, 0) != 0) continue;
    platform["provider"] = sign.provider;
    platform["how"] = "dmi";
    break;
  }
  // Nitro machines carry their type as product name; the Xen generation says "HVM domU" there.
  const std::string product = dmi("product_name").value_or("");
  if (platform["provider"] == "aws" && product.find('.') != std::string::npos) platform["instance"] = product;
  return platform;
}

}  // namespace

std::vector<std::string> identified_providers() {
  std::set<std::string> providers;
  for (const auto& [word, provider] : cloud_names) providers.insert(provider);
  for (const Sign& sign : signs) providers.insert(sign.provider);
  return {providers.begin(), providers.end()};
}

nlohmann::json probe_platform(const ProbeOptions& options) {
  const Tree tree(options.root);
  const json dmi = from_dmi(tree);
  auto platform = from_cloud_init(tree, options.keep_identifiers);
  if (!platform) return dmi;
  // cloud-init can name the cloud and not the type, or call it OpenStack where DMI knows the seller.
  const bool same = (*platform)["provider"] == dmi["provider"];
  if ((*platform)["instance"].is_null() && same) (*platform)["instance"] = dmi["instance"];
  if ((*platform)["provider"].is_null() || (*platform)["provider"] == "openstack")
    (*platform)["provider"] = dmi["provider"];
  return *platform;
}

}  // namespace claimcheck
