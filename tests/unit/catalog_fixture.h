// A catalog small enough to see through: two cards, two machines, four prices, three expected values. Tests change one
// thing in it and look at what becomes of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/catalog/parts.h"
#include "harness/error.h"

namespace claimcheck {

class SmallCatalog {
 public:
  std::map<std::string, nlohmann::json> documents;
  std::map<std::string, std::string> tables;

  SmallCatalog() {
    documents["sources.json"] = {
        {"schema_version", "1.0"},
        {"sources",
         {{{"id", "list"}, {"title", "a price list"}, {"date", "2026-07-20"}},
          {{"id", "page"}, {"title", "an undated page"}, {"date", nullptr}, {"undated", true}}}}};
    documents["currencies.json"] = {
        {"schema_version", "1.0"},
        {"currencies",
         {{{"code", "CNY"}, {"per_usd", 7.0}, {"date", "2026-01-01"}, {"confidence", "low"}, {"source", {"page"}}}}}};
    documents["fees.json"] = {{"schema_version", "1.0"},
                              {"fees",
                               {{{"id", "aws/egress"},
                                 {"provider", "aws"},
                                 {"kind", "egress"},
                                 {"product", "to the internet"},
                                 {"free_gb", 100},
                                 {"tiers", {{{"up_to_gb", 10240}, {"price", 0.09}}, {{"price", 0.05}}}},
                                 {"currency", "USD"},
                                 {"date", "2026-07-20"},
                                 {"confidence", "high"},
                                 {"source", {"list"}}}}}};
    documents["accelerators/nvidia.json"] = {{"schema_version", "1.0"},
                                             {"accelerators",
                                              {card("nvidia-h200-sxm-141", "NVIDIA H200 SXM 141GB", 141, 4800),
                                               card("nvidia-h100-sxm-80", "NVIDIA H100 SXM5 80GB", 80, 3350)}}};
    documents["platforms/aws.json"] = {
        {"schema_version", "1.0"},
        {"platforms", {machine("p5.48xlarge", "nvidia-h100-sxm-80"), machine("p5en.48xlarge", "nvidia-h200-sxm-141")}}};
    documents["expected/values.json"] = {
        {"schema_version", "1.0"},
        {"expected",
         {value("memory", "memory.copy.gbps", "GB/s", 3900, 4010, {}),
          value("reduce", "allreduce.busbw.gbps", "GB/s", 431, 480, {{"nodes", 1}, {"count", 8}}),
          value("gemm", "gemm.bf16.tflops", "TFLOPS", nullptr, 700, {})}}};
    documents["claims/guides.json"] = {{"schema_version", "1.0"},
                                       {"claims",
                                        {{{"id", "G0-01"},
                                          {"guide", "guide 0"},
                                          {"line", 7},
                                          {"claim", "p5 has eight cards"},
                                          {"subject", "AWS p5"},
                                          {"about", {"aws:p5.48xlarge"}},
                                          {"verdict", "ok"},
                                          {"source", {"page"}}}}}};
    tables["prices/aws.csv"] =
        "instance,region,term,per_hour,currency,unit,as_of,accelerator,accelerator_count,outlier,unusable,source\n"
        "p5.48xlarge,us-east-1,on_demand,55.04,USD,instance-hour,2026-07-20,nvidia-h100-sxm-80,8,,,list\n"
        "p5.48xlarge,us-east-2,on_demand,55.04,USD,instance-hour,2026-07-20,nvidia-h100-sxm-80,8,,,list\n"
        "p5.48xlarge,us-east-1,spot,20.5,USD,instance-hour,undated,nvidia-h100-sxm-80,8,,,page\n"
        "p5.48xlarge,cn-1,on_demand,385.28,CNY,instance-hour,2026-07-20,nvidia-h100-sxm-80,8,,,list\n";
  }

  static nlohmann::json card(const std::string& id, const std::string& name, double memory, double bandwidth) {
    return {{"id", id},
            {"name", name},
            {"vendor", "NVIDIA"},
            {"architecture", "Hopper"},
            {"form_factor", "SXM5"},
            {"memory_gb", memory},
            {"memory_bandwidth_gbps", bandwidth},
            {"dense_tflops", {{"bf16", 989}, {"fp8", 1979}, {"fp64", 34}, {"fp64_tensor", 67}}},
            {"interconnect_gbps", 900},
            {"pcie_gen", 5},
            {"pcie_lanes", 16},
            {"confidence", "high"},
            {"source", {"list"}}};
  }

  static nlohmann::json machine(const std::string& instance, const std::string& accelerator) {
    return {{"id", "aws:" + instance},    {"provider", "aws"},      {"instance", instance},
            {"accelerator", accelerator}, {"accelerator_count", 8}, {"source", {"list"}}};
  }

  static nlohmann::json value(const std::string& id, const std::string& metric, const std::string& unit,
                              const nlohmann::json& floor, const nlohmann::json& typical,
                              const nlohmann::json& conditions) {
    return {{"id", id},
            {"kind", "measured"},
            {"platform", nullptr},
            {"accelerator", "nvidia-h200-sxm-141"},
            {"metric", metric},
            {"unit", unit},
            {"floor", floor},
            {"typical", typical},
            {"ceiling", nullptr},
            {"conditions", conditions.is_null() ? nlohmann::json::object() : conditions},
            {"method", "by hand"},
            {"date", "2026-07-20"},
            {"source", {"list"}}};
  }

  // Made when it is not there yet.
  nlohmann::json& at(const std::string& file, const std::string& pointer) {
    return documents.at(file)[nlohmann::json::json_pointer(pointer)];
  }

  nlohmann::json& expected(std::size_t index) { return at("expected/values.json", "/expected").at(index); }

  // One more line of prices/aws.csv.
  void price(const std::string& line) { tables["prices/aws.csv"] += line + "\n"; }

  std::vector<CatalogFile> files() const {
    std::vector<CatalogFile> files;
    for (const auto& [path, document] : documents) files.push_back({path, document.dump()});
    for (const auto& [path, text] : tables) files.push_back({path, text});
    return files;
  }

  Catalog load() const { return read_catalog(files()); }

  // What loading is refused with; empty when it is not.
  std::string error() const {
    try {
      load();
    } catch (const UserError& refused) {
      return refused.what();
    }
    return "";
  }

  // "FILE PLACE: TEXT" of what the check refuses, or only lists.
  std::vector<std::string> refused() const { return problems(true); }
  std::vector<std::string> disputed() const { return problems(false); }

 private:
  std::vector<std::string> problems(bool refused) const {
    std::vector<std::string> texts;
    for (const CatalogProblem& problem : check_files(files())) {
      if (problem.refused == refused) texts.push_back(problem.file + " " + problem.place + ": " + problem.text);
    }
    return texts;
  }
};

}  // namespace claimcheck
