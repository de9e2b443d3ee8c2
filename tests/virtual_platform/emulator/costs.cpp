#include "tests/virtual_platform/emulator/costs.h"

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernels/cuda/matrix_instructions.h"
#include "kernels/device.h"

namespace virtual_platform {

namespace {

using claimcheck::kernels::DataType;
using claimcheck::kernels::VectorOp;
using claimcheck::kernels::cuda::MatrixInstruction;

std::int64_t integer(const KernelLaunch& launch, std::size_t index) {
  std::int64_t value = 0;
  std::memcpy(&value, launch.arguments[index], sizeof value);
  return value;
}

double rate(const RatesByType& rates, const std::string& type) {
  const auto found = rates.find(type);
  return found == rates.end() ? 0 : found->second;
}

// run_chains(input, output, steps), kernels/cuda/vector.cuh.
void add_chains(KernelCost& cost, const KernelLaunch& launch, int variant) {
  constexpr double chains = 8;
  constexpr std::array names = {"fp64", "fp32", "fp16", "bf16", "int32", "dp4a"};
  const auto op = static_cast<VectorOp>(variant);
  const double lanes_of_thread = op == VectorOp::fp16 || op == VectorOp::bf16 ? 2 : 1;
  const double operations = op == VectorOp::dp4a ? 8 : 2;
  cost.flop = launch.thread_count() * lanes_of_thread * chains * operations * static_cast<double>(integer(launch, 2));
  cost.tflops = rate(device(launch.device).gpu->vector_tflops, names.at(static_cast<std::size_t>(variant)));
}

const char* name_of(DataType type) {
  switch (type) {
    case DataType::fp64:
      return "fp64";
    case DataType::tf32:
      return "tf32";
    case DataType::fp16:
      return "fp16";
    case DataType::bf16:
      return "bf16";
    case DataType::fp8_e4m3:
      return "fp8_e4m3";
    case DataType::fp8_e5m2:
      return "fp8_e5m2";
    case DataType::int8:
      return "int8";
    default:
      return "";
  }
}

// multiply_tiles(a, b, c, steps), kernels/cuda/tensor.cuh: a tile for each warp.
void add_tiles(KernelCost& cost, const KernelLaunch& launch, int variant) {
  const auto instruction = static_cast<MatrixInstruction>(variant);
  const auto facts = claimcheck::kernels::cuda::facts_of(instruction);
  const double tile = 2.0 * facts.m * facts.k * 8 * claimcheck::kernels::cuda::products_of(instruction);
  cost.flop = launch.thread_count() / 32 * tile * static_cast<double>(integer(launch, 3));
  cost.tflops = rate(device(launch.device).gpu->tensor_tflops, name_of(facts.input));
}

// chase_list(list, loads, last), kernels/cuda/chase.cuh: one load after another, from where the list fits.
void add_chase(KernelCost& cost, const KernelLaunch& launch, int /*variant*/) {
  const Gpu& gpu = *device(launch.device).gpu;
  const Address list = visible(static_cast<Address>(integer(launch, 0)));
  const Allocation* allocation = find_allocation(list);
  if (allocation == nullptr) return;
  const auto bytes = static_cast<double>(allocation->begin + allocation->bytes - list);
  double latency_ns = bytes <= gpu.l2_kib * 1024 ? gpu.l2_latency_ns : gpu.memory_latency_ns;
  if (allocation->device == host) latency_ns = spec().pcie.latency_us * 1e3;
  if (allocation->device >= 0 && allocation->device != launch.device) latency_ns = spec().links.latency_ns;
  cost.latency_seconds = static_cast<double>(integer(launch, 1)) * latency_ns * 1e-9;
  cost.memory_bytes = 0;
  cost.peer_bytes_read.clear();
}

struct Row {
  const char* kernel;
  CostRule rule;
};

constexpr Row table[] = {{"run_chains", {.free_argument = 2, .add = add_chains, .by_warp = true}},
                         {"multiply_tiles", {.free_argument = 3, .add = add_tiles, .by_warp = true}},
                         {"chase_list", {.free_argument = 1, .add = add_chase, .by_data = true}},
                         {"fill_normal", {.free_argument = 2}},
                         {"embed_forward", {.by_data = true}},
                         {"embed_gradient", {.by_data = true}}};

}  // namespace

CostRule cost_rule(const std::string& mangled_name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(mangled_name.c_str(), nullptr, nullptr, &status), std::free);
  // "void claimcheck::kernels::cuda::run_chains<(claimcheck::kernels::VectorOp)1>(void const*, void*, long)"
  const std::string text = demangled ? demangled.get() : mangled_name;
  for (const Row& row : table) {
    const std::size_t at = text.find(std::string("::") + row.kernel);
    if (at == std::string::npos) continue;
    CostRule rule = row.rule;
    const std::size_t after = at + 2 + std::strlen(row.kernel);
    if (text[after] == '<') rule.variant = std::atoi(text.c_str() + text.find(')', after) + 1);
    return rule;
  }
  return {};
}

}  // namespace virtual_platform
