// What a document says about the machine it comes from, for judging and pricing. Absent facts stay unknown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// "host", "cuda", or empty when the document does not say which kind of worker measured.
std::string worker_kind(const Document& document);

// Measured on the CPU, not on an accelerator.
bool measured_on_host(const Document& document, const Measurement& measurement);

// Names of the accelerators of the machine, one each; unset when the document does not say. A GPU without a known name
// is "unknown GPU".
std::optional<std::vector<std::string>> accelerators_seen(const Document& document);

// A run over several nodes lists the devices of all; 1 when the document does not tell nodes apart.
std::size_t nodes_seen(const Document& document);

// How many devices the value is the slowest of: of several processes the first alone lists its devices.
std::size_t devices_at_work(const Measurement& measurement);

// The catalog row of a device that calls itself `name`; nullptr when unknown. The test suite's machines put "(virtual)"
// behind the name of the card they stand for.
const Accelerator* accelerator_of_name(const Catalog& catalog, std::string_view name);

// The device facts (clocks, units) of device `index`, an empty object when unknown.
nlohmann::json device_facts(const Document& document, int index);

// The number at a JSON pointer; unset when absent or not a number.
std::optional<double> number_at(const nlohmann::json& facts, const std::string& pointer);

// The text of an object's member; empty when absent or not a text.
std::string text_at(const nlohmann::json& object, const char* key);

// The objects in a list that is an object's member; none when it is something else. For documents of strangers.
std::vector<nlohmann::json> objects_at(const nlohmann::json& object, const char* key);

// Whether an object's member is true.
bool flag_at(const nlohmann::json& object, const char* key);

// "bf16" of "gemm.bf16.tflops"; empty for other metrics.
std::string gemm_data_type(std::string_view metric);

// "gemm.bf16.tflops" of "bf16"; empty when there is no such metric. "fp8" is fp8_e4m3.
std::string gemm_metric(std::string_view data_type);

}  // namespace claimcheck
