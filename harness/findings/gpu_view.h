// Each GPU of a document: what it is, and what its sensors saw during each measurement. Pure.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

struct Sensed {
  const Measurement* measurement = nullptr;
  nlohmann::json sensors;  // the names of kernels/cuda/watch.cpp; empty where nothing was sensed
};

struct GpuView {
  int index = 0;
  std::string model;     // "NVIDIA H100 80GB HBM3"
  nlohmann::json entry;  // of system.devices
  nlohmann::json facts;  // its facts
  std::vector<Sensed> seen;

  std::string name() const;  // "GPU 3 (0000:13:00.0)"
};

// Empty for a document of the CPU.
std::vector<GpuView> gpus_of(const Document& document);

// One device that a finding is about.
struct Hit {
  const GpuView* gpu = nullptr;
  std::string detail;  // "91 C, hw_thermal_slowdown in gemm.bf16"
  nlohmann::json evidence = nlohmann::json::object();
};

// What is wrong with one GPU; unset: nothing, or not known.
using Rule = std::function<std::optional<Hit>(const GpuView&)>;

// One finding about all that the rule hits: "LEAD: GPU 3 (...), DETAIL; GPU 5 (...), DETAIL." Unset when it hits none.
std::optional<Finding> finding_about(const std::vector<GpuView>& gpus, const char* kind, const std::string& lead,
                                     const Rule& rule);

// Whether a list of words joined by commas has this one.
bool has_word(const nlohmann::json& object, const char* key, std::string_view word);

}  // namespace claimcheck
