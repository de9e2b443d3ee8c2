// Sources, accelerators, platforms, currencies and the guides' statements.
#include <fmt/format.h>

#include "harness/catalog/parts.h"

namespace claimcheck::catalog_parts {
namespace {

const Words& data_types() {
  static const Words words = {"fp64", "fp64_tensor", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"};
  return words;
}
const Words& confidences() {
  static const Words words = {"high", "medium", "low"};
  return words;
}

std::map<std::string, double> dense_peaks(const Record& record, const std::string& file, const std::string& pointer) {
  std::map<std::string, double> peaks;
  const nlohmann::json peaks_object = record.object("dense_tflops");
  const Record fields(peaks_object, file, pointer + "/dense_tflops", data_types());
  for (const auto& item : peaks_object.items()) {
    if (const auto value = fields.number(item.key().c_str())) peaks[item.key()] = *value;
  }
  return peaks;
}

void read_conflicts(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  if (!value.contains("conflicts")) return;
  const nlohmann::json& conflicts = value.at("conflicts");
  if (!conflicts.is_array()) throw CatalogError(file, pointer + "/conflicts", "expected a list");
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    const Record conflict(conflicts[i], file, fmt::format("{}/conflicts/{}", pointer, i),
                          {"field", "value", "stated_by", "why"});
    conflict.text("field");
    conflict.text("stated_by");
    if (!conflicts[i].contains("value")) conflict.fail("value", "missing; expected the other value");
  }
}

}  // namespace

Source read_source(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(value, file, pointer, {"id", "title", "date", "undated", "licence", "kind", "commit", "note"});
  Source source;
  source.id = record.text("id");
  source.title = record.text("title");
  source.date = record.date();
  source.licence = record.optional_text("licence");
  return source;
}

Accelerator read_accelerator(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(value, file, pointer, {"id",           "name",
                                             "vendor",       "architecture",
                                             "form_factor",  "aliases",
                                             "memory_gb",    "memory_type",
                                             "tdp_w",        "dense_tflops",
                                             "sm_count",     "memory_bandwidth_gbps",
                                             "pcie_gen",     "pcie_lanes",
                                             "interconnect", "interconnect_gbps",
                                             "boost_mhz",    "cuda_compute_capability",
                                             "derived",      "device_reported",
                                             "conflicts",    "confidence",
                                             "notes",        "source"});
  Accelerator accelerator;
  accelerator.id = record.text("id");
  accelerator.name = record.text("name");
  accelerator.vendor = record.text("vendor");
  accelerator.architecture = record.optional_text("architecture");
  accelerator.memory_gb = record.number("memory_gb");
  accelerator.memory_bandwidth_gbps = record.number("memory_bandwidth_gbps");
  accelerator.dense_tflops = dense_peaks(record, file, pointer);
  accelerator.interconnect_gbps = record.number("interconnect_gbps");
  accelerator.tdp_w = record.number("tdp_w");
  accelerator.aliases = record.list("aliases");
  accelerator.sources = record.sources();
  accelerator.place = record.place();
  for (const char* field : {"pcie_gen", "pcie_lanes", "sm_count"}) record.count(field);
  for (const char* field : {"form_factor", "memory_type", "interconnect", "notes"}) record.optional_text(field);
  record.number("boost_mhz");
  record.word("confidence", confidences());
  read_conflicts(value, file, pointer);
  accelerator.record = value;
  return accelerator;
}

Platform read_platform(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(value, file, pointer,
                      {"id", "provider", "instance", "aliases", "accelerator", "accelerator_count",
                       "accelerator_memory_gb", "vcpus", "ram_gib", "intra_node", "intra_node_gbps", "network_gbit_s",
                       "network_kind", "network_nics", "local_nvme_gb", "status", "notes", "source"});
  Platform platform;
  platform.id = record.text("id");
  platform.provider = record.text("provider");
  platform.instance = record.text("instance");
  if (platform.id != platform.provider + ":" + platform.instance) {
    record.fail("id",
                fmt::format(R"(expected "{}:{}", found "{}")", platform.provider, platform.instance, platform.id));
  }
  platform.accelerator = record.optional_text("accelerator");
  platform.accelerator_count = record.count("accelerator_count");
  platform.vcpus = record.count("vcpus");
  platform.ram_gib = record.number("ram_gib");
  platform.network_gbps = record.number("network_gbit_s");
  platform.local_nvme_gb = record.number("local_nvme_gb");
  platform.status = record.optional_text("status");
  platform.aliases = record.list("aliases");
  platform.sources = record.sources();
  platform.place = record.place();
  for (const char* field : {"accelerator_memory_gb", "intra_node_gbps"}) record.number(field);
  for (const char* field : {"intra_node", "network_kind", "notes"}) record.optional_text(field);
  record.count("network_nics");
  platform.record = value;
  return platform;
}

Currency read_currency(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(value, file, pointer, {"code", "per_usd", "date", "undated", "confidence", "note", "source"});
  Currency currency;
  currency.code = record.text("code");
  const std::optional<double> rate = record.number("per_usd");
  if (!rate || *rate <= 0) record.fail("per_usd", "expected a rate above 0: units of the currency per US dollar");
  currency.per_usd = *rate;
  currency.date = record.date();
  currency.confidence = record.word("confidence", confidences());
  currency.note = record.optional_text("note");
  currency.sources = record.sources();
  currency.place = record.place();
  return currency;
}

Fee read_fee(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(value, file, pointer,
                      {"id", "provider", "kind", "product", "region", "free_gb", "tiers", "currency", "date", "undated",
                       "confidence", "note", "source"});
  Fee fee;
  fee.id = record.text("id");
  fee.provider = record.text("provider");
  fee.kind = record.word("kind", {"storage", "egress"});
  fee.product = record.text("product");
  fee.region = record.optional_text("region");
  fee.free_gb = record.number("free_gb").value_or(0);
  fee.currency = record.text("currency");
  if (!value.contains("tiers") || !value.at("tiers").is_array() || value.at("tiers").empty())
    record.fail("tiers", "missing; expected a list such as [{\"price\": 0.09}]");
  double reached = fee.free_gb;
  for (std::size_t i = 0; i < value.at("tiers").size(); ++i) {
    const Record tier(value.at("tiers")[i], file, fmt::format("{}/tiers/{}", pointer, i), {"up_to_gb", "price"});
    const auto price = tier.number("price");
    if (!price) tier.fail("price", "missing; expected a price of a GB, 0 where nothing is taken");
    const auto end = tier.number("up_to_gb");
    const bool last = i + 1 == value.at("tiers").size();
    if (!end && !last) tier.fail("up_to_gb", "missing; only the last tier has no end");
    if (end && *end <= reached) tier.fail("up_to_gb", "expected more than the tier before it, and than free_gb");
    if (end) reached = *end;
    fee.tiers.push_back({end, *price});
  }
  fee.date = record.date();
  fee.confidence = record.word("confidence", confidences());
  fee.note = record.optional_text("note");
  fee.sources = record.sources();
  fee.place = record.place();
  return fee;
}

void read_guide_claim(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(value, file, pointer,
                      {"id", "guide", "line", "claim", "subject", "about", "quantity", "value", "unit", "currency",
                       "term", "verdict", "remark", "right_value", "check", "metrics", "testable", "source"});
  record.list("metrics");
  for (const char* field : {"id", "guide", "claim", "subject"}) record.text(field);
  record.count("line");
  if (!value.contains("about") || value.at("about").is_null()) record.fail("about", "missing; expected a list of ids");
  record.list("about");
  record.word("verdict",
              {"ok", "partly_ok", "overstated", "outdated", "incomplete", "misleading", "wrong", "contradictory",
               "implausible", "unverified", "unverifiable", "opinion", "rule", "feature", "metric"});
  record.sources();
}

void read_contradiction(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(value, file, pointer, {"id", "topic", "claims", "public", "right", "severity", "source"});
  for (const char* field : {"id", "topic", "public", "right"}) record.text(field);
  if (record.list("claims").empty()) record.fail("claims", "expected at least one id of claims/guides.json");
  record.word("severity", {"high", "medium", "low"});
  record.sources();
}

void read_system(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(value, file, pointer, {"name", "owner", "covered_by", "how", "source"});
  for (const char* field : {"name", "owner", "how"}) record.text(field);
  record.word("covered_by", {"probe", "benchmark", "catalog", "formula", "script", "nothing"});
  record.sources();
}

void read_rule(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  if (!value.is_object() || !value.contains("source") || !value.at("source").is_array() || value.at("source").empty()) {
    throw CatalogError(file, pointer, "no source; expected at least one id of sources.json in the field source");
  }
}

}  // namespace claimcheck::catalog_parts
