#include "harness/probe/providers.h"

#include <algorithm>

namespace claimcheck::probe {

// DMI: what cloud-init's ds-identify looks for too. Azure's asset tag is "MSFT AZURE VM" as character codes; Hyper-V
// elsewhere has the same vendor and product but not that tag. Huawei and Open Telekom Cloud call themselves OpenStack
// in cloud-init's data; the asset tag tells them apart. Variables: RunPod's and Vast's pages on the environment of a
// container. Crusoe: its page on lifecycle scripts. CoreWeave and Lambda document no mark.
const std::vector<Provider>& providers() {
  static const std::vector<Provider> table = {
      {"aws",
       {"aws", "ec2"},
       {{"sys_vendor", "Amazon EC2"}, {"bios_vendor", "Amazon EC2"}, {"bios_version", "4.2.amazon"}},
       "",
       "",
       true},
      {"azure", {"azure"}, {{"chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"}}, "", "", true},
      {"gcp", {"gce", "gcp"}, {{"product_name", "Google Compute Engine"}, {"sys_vendor", "Google"}}, "", "", true},
      {"alibaba",
       {"aliyun", "alibaba"},
       {{"sys_vendor", "Alibaba Cloud"}, {"product_name", "Alibaba Cloud ECS"}},
       "",
       "",
       true},
      {"tencent", {"tencent"}, {{"sys_vendor", "Tencent Cloud"}}, "", "", true},
      {"huawei-otc", {}, {{"chassis_asset_tag", "OpenTelekomCloud"}}, "", "", true},
      {"huawei", {"huawei"}, {{"chassis_asset_tag", "HUAWEICLOUD"}, {"sys_vendor", "Huawei Cloud"}}, "", "", true},
      {"oci", {"oracle"}, {{"chassis_asset_tag", "OracleCloud.com"}}, "", "", true},
      {"runpod", {}, {}, "RUNPOD_POD_ID", ""},
      {"vast", {}, {}, "VAST_CONTAINERLABEL", ""},
      {"crusoe", {}, {}, "", "usr/local/bin/crusoe", false, false},
      {"lambda", {"lambda"}, {}, "", "", false, false},
  };
  return table;
}

const Provider* find_provider(std::string_view id) {
  const auto& all = providers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Provider& one) { return one.id == id; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace claimcheck::probe
