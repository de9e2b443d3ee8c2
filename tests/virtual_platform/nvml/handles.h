// What NVML hands out handles of: GPUs, GPUs split into MIG instances, and those instances. CUDA_VISIBLE_DEVICES does
// not matter to it.
#pragma once

#include <string>
#include <vector>

#include "tests/virtual_platform/engine/spec.h"
#include "tests/virtual_platform/nvml/abi.h"

namespace virtual_platform::nvml {

struct Handle {
  enum class Kind { gpu, split_gpu, instance };

  Kind kind = Kind::gpu;
  const Gpu* gpu = nullptr;  // of a split GPU: its first instance, which says what the whole is
  int machine_index = 0;     // in Spec::gpus

  bool is_instance() const { return kind == Kind::instance; }
  const std::string& uuid() const { return kind == Kind::split_gpu ? gpu->mig_parent_uuid : gpu->uuid; }
  std::string name() const { return kind == Kind::split_gpu ? gpu->mig_parent_name : gpu->name; }
};

// As nvidia-smi counts: instances are no devices of their own here.
const std::vector<Handle>& whole_devices();
const std::vector<Handle>& instances();

// Null when it is not one of ours.
const Handle* parent_of(const Handle& instance);

// Begins every function: NVML_SUCCESS, or what it returns at once (a fault of the spec, of CLAIMCHECK_VIRTUAL_FAIL, no
// nvmlInit before, or a lost GPU). `function` is a string literal.
nvmlReturn_t refusal(const char* function);
nvmlReturn_t refusal(const char* function, nvmlDevice_t device);

// The value a sensor gives, which may be a lie.
double sensor(const Gpu& gpu, const char* name, double truth);

// Copies with its terminating zero.
nvmlReturn_t copy_text(const std::string& text, char* target, unsigned size);

void set_initialised(bool initialised);

}  // namespace virtual_platform::nvml
