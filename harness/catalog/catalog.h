// The catalog: accelerators, platforms (instances), prices, claims, expected values. Data only, each line with source
// and date; unknown stays unset. Embedded in the binary; a directory of the same layout can take its place.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

// Where a line comes from: ids into sources.json, in order of trust.
using Sources = std::vector<std::string>;

struct Source {
  std::string id;
  std::string title;  // repository and file, or document
  std::string date;   // ISO date of the data inside, or of the commit; empty when the snapshot is undated
  std::string licence;
};

// TFLOPS dense; memory in GB as sold; bandwidths in GB/s decimal.
struct Accelerator {
  std::string id;    // "nvidia-h100-sxm-80"
  std::string name;  // "NVIDIA H100 SXM 80GB"
  std::string vendor;
  std::string architecture;
  std::optional<double> memory_gb;
  std::optional<double> memory_bandwidth_gbps;
  std::map<std::string, double>
      dense_tflops;  // by data type: fp64, fp64_tensor, fp32, tf32, fp16, bf16, fp8, int8 (TOPS), fp4
  std::optional<double> interconnect_gbps;  // total of both directions
  std::optional<double> tdp_w;
  std::vector<std::string> aliases;
  nlohmann::json record;  // the whole line, as in the file
  Sources sources;
};

struct Platform {
  std::string id;           // "aws:p5.48xlarge"
  std::string provider;     // "aws"
  std::string instance;     // "p5.48xlarge"
  std::string accelerator;  // id, empty when unknown
  std::optional<int> accelerator_count;
  std::optional<int> vcpus;
  std::optional<double> ram_gib;
  std::optional<double> network_gbps;  // per instance, one way
  std::optional<double> local_nvme_gb;
  std::string status;
  std::vector<std::string> aliases;
  nlohmann::json record;
  Sources sources;
};

struct Price {
  std::string provider;
  std::string instance;
  std::string region;
  std::string term;                // on_demand, spot, reserved_1y, reserved_3y, monthly, ...
  std::optional<double> per_hour;  // in `currency`, of one `unit`
  std::optional<double> per_month;
  std::string currency;  // ISO code
  std::string unit;      // instance-hour, gpu-hour, chip-hour, ...
  std::string as_of;     // ISO date of the price; empty when undated
  std::string confidence;
  std::string accelerator;
  std::optional<int> accelerator_count;
  std::string note;
  Sources sources;
  std::string place;  // "prices/aws.csv:17"
};

// What healthy machines of this kind reach with this method. floor < typical <= ceiling.
struct Expected {
  std::string id;
  std::string platform;     // platform id, empty: any platform with this accelerator
  std::string accelerator;  // accelerator id, empty: any
  std::string metric;
  std::optional<double> floor;
  std::optional<double> typical;
  std::optional<double> ceiling;
  std::string unit;
  nlohmann::json conditions =
      nlohmann::json::object();  // data type, count, fabric class, ECC, MIG or vGPU mode, method
  std::string method;
  std::string date;
  Sources sources;
};

struct CatalogProblem {
  std::string file;     // "prices/aws.csv"
  std::string place;    // "line 17" or JSON pointer
  std::string text;     // what is wrong and what was expected
  bool refused = true;  // false: listed as disputed
};

struct Catalog {
  std::map<std::string, Source> sources;
  std::vector<Accelerator> accelerators;
  std::vector<Platform> platforms;
  std::vector<Price> prices;
  std::vector<Expected> expected;
  nlohmann::json guide_claims;  // catalog/claims/guides.json

  // Look-ups forgive case, punctuation, provider prefixes and the usual aliases. nullptr when unknown.
  const Platform* find_platform(std::string_view name) const;
  const Accelerator* find_accelerator(std::string_view name) const;
  std::vector<std::string> near_platforms(std::string_view name, std::size_t most = 3) const;
  std::vector<std::string> near_accelerators(std::string_view name, std::size_t most = 3) const;
  std::vector<const Price*> prices_of(const Platform& platform) const;
};

// The embedded catalog, or the one in `directory`. Throws UserError naming file and place.
Catalog load_catalog(const std::optional<std::filesystem::path>& directory = std::nullopt);

// Every rule of `claimcheck catalog check` (docs/catalog.md), over the same files.
std::vector<CatalogProblem> check_catalog(const std::optional<std::filesystem::path>& directory = std::nullopt);

}  // namespace claimcheck
