// What a companion library (the product's kernels compiled for the CPU) and the emulator know of each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace virtual_platform {

enum class ParameterKind : std::uint8_t { pointer, integer, floating, other };

struct Parameter {
  std::size_t bytes;
  ParameterKind kind;
};

struct CompiledKernel {
  const char* name;                      // mangled, as nvcc registers it
  void (*call)(void* const* arguments);  // one thread's run
  const Parameter* parameters;
  std::size_t parameter_count;
};

struct CompanionKernels {
  const CompiledKernel* kernels;
  std::size_t count;
};

// The one symbol a companion exports.
constexpr const char* companion_symbol = "virtual_platform_companion";
using CompanionEntry = CompanionKernels (*)();

}  // namespace virtual_platform
