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
  std::string place;  // "accelerators/nvidia.json /accelerators/3"
};

struct Platform {
  std::string id;           // "aws:p5.48xlarge"
  std::string provider;     // "aws"
  std::string instance;     // "p5.48xlarge"
  std::string accelerator;  // id, empty when unknown
  std::optional<int> accelerator_count;
  std::optional<int> vcpus;
  std::optional<double> ram_gib;
  std::optional<double> network_gbps;  // Gb/s, per instance, one way
  std::optional<double> local_nvme_gb;
  std::string status;
  std::vector<std::string> aliases;
  nlohmann::json record;
  Sources sources;
  std::string place;
};

struct Price {
  std::string provider;
  std::string instance;
  std::string region;
  std::string term;                // on_demand, spot, reserved_1y, reserved_3y, monthly, ...
  std::string payment;             // of a reservation: no_upfront, partial_upfront, all_upfront; empty when not said
  std::optional<double> per_hour;  // in `currency`, of one `unit`; upfront payments are spread over the term's hours
  std::optional<double> per_month;
  std::string currency;  // ISO code
  std::string unit;      // instance-hour, gpu-hour, chip-hour, ...
  std::string as_of;     // ISO date of the price; empty when undated
  std::string confidence;
  std::string accelerator;
  std::optional<int> accelerator_count;
  std::string note;
  std::string outlier;   // why a real price stands apart from its peers
  std::string unusable;  // why a price is kept but must not be counted with, such as a bid floor
  Sources sources;
  std::string place;  // "prices/aws.csv:17"
};

// What healthy machines of this kind reach with this method. floor < typical <= ceiling.
struct Expected {
  std::string id;
  std::string kind;         // "measured" or "vendor_threshold"
  std::string platform;     // platform id, empty: any platform with this accelerator
  std::string accelerator;  // accelerator id, never empty; "unlisted:NAME" for one that has no row
  std::string metric;
  std::optional<double> floor;
  std::optional<double> typical;
  std::optional<double> ceiling;
  std::string unit;
  nlohmann::json conditions =
      nlohmann::json::object();  // data type, count, fabric class, ECC, MIG or vGPU mode, method
  std::string method;
  std::string date;  // empty when undated
  std::string note;
  std::string outlier;   // why it may stand apart from its peers
  std::string disputed;  // what another source says
  std::string unusable;  // why it is kept but must not be judged by
  Sources sources;
  std::string place;
};

// A dated rate, only where a source names one.
struct Currency {
  std::string code;    // ISO
  double per_usd = 0;  // units of it per US dollar
  std::string date;    // empty when undated
  std::string confidence;
  std::string note;
  Sources sources;
  std::string place;
};

// A tier ends at `up_to_gb` of the month's total; the last one may have no end.
struct FeeTier {
  std::optional<double> up_to_gb;
  double price = 0;  // a GB, or a GB and month
};

// What a provider takes beside the machine.
struct Fee {
  std::string id;
  std::string provider;
  std::string kind;     // "storage": a GB kept for a month; "egress": a GB sent to the internet
  std::string product;  // "EBS gp3"
  std::string region;   // empty: not said
  double free_gb = 0;   // of a month
  std::vector<FeeTier> tiers;
  std::string currency;
  std::string date;  // empty when undated
  std::string confidence;
  std::string note;
  Sources sources;
  std::string place;
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
  std::vector<Expected> expected;           // a record for a family ("aws:g5.*") is here once a platform
  std::vector<Expected> unusable_expected;  // kept and shown, never judged by
  std::vector<Currency> currencies;
  std::vector<Fee> fees;
  nlohmann::json guide_claims;          // catalog/claims/guides.json
  nlohmann::json guide_contradictions;  // catalog/claims/contradictions.json
  nlohmann::json guide_systems;         // catalog/claims/systems.json

  // Look-ups forgive case, punctuation, provider prefixes, counts ("8x H100 SXM") and the usual aliases, also what a
  // driver calls the card. nullptr when unknown or when several fit ("A100"); near_*() then gives all that fit.
  const Platform* find_platform(std::string_view name) const;
  const Accelerator* find_accelerator(std::string_view name) const;
  // All that a name fits: none, the one that find_*() gives, or the candidates of an ambiguous name.
  std::vector<const Platform*> platforms_named(std::string_view name) const;
  std::vector<const Accelerator*> accelerators_named(std::string_view name) const;
  // Ids, best first: what fits an ambiguous name, then by edit distance.
  std::vector<std::string> near_platforms(std::string_view name, std::size_t most = 3) const;
  std::vector<std::string> near_accelerators(std::string_view name, std::size_t most = 3) const;
  // Its own prices, and the provider's per-chip prices of its accelerator; without unusable ones.
  std::vector<const Price*> prices_of(const Platform& platform) const;
  // Units per US dollar; USD is 1. Unset when no source names a rate.
  std::optional<double> per_usd(std::string_view currency) const;
};

// The embedded catalog, or the one in `directory`. Throws UserError naming file and place.
Catalog load_catalog(const std::optional<std::filesystem::path>& directory = std::nullopt);

// The dense peak that a GEMM of this type is claimed to reach: fp64 on tensor cores where the card has them, fp8 for
// both FP8 formats. TFLOPS, TOPS for int8.
std::optional<double> dense_claim(const Accelerator& accelerator, std::string_view data_type);

// Typical measured / dense claim, for estimates. Takes the accelerator's own values of this type, then its sibling
// 16-bit type, then another tensor type, then other cards of the same architecture; `basis`, when given, says which in
// one sentence. Unset when the catalog has nothing to go by.
std::optional<double> typical_ratio(const Catalog& catalog, const Accelerator& accelerator, std::string_view data_type,
                                    std::string* basis = nullptr);

// Every rule of `claimcheck catalog check` (docs/catalog.md), over the same files.
// Problems in the order of files and lines.
std::vector<CatalogProblem> check_catalog(const std::optional<std::filesystem::path>& directory = std::nullopt);

}  // namespace claimcheck
