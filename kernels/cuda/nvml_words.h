// NVML's codes in words, and how its answers become facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/cuda/nvml_abi.h"
#include "kernels/device.h"

namespace claimcheck::kernels::cuda::nvml {

// The names of the bits that are set, joined by commas: "sw_power_cap,hw_thermal_slowdown"; a bit without a name is
// shown as its number. Empty when none is set.
std::string throttle_names(unsigned long long mask);

// Those that mean a fault whatever the load: hardware slowdown, heat, power brake. A power cap does not: every healthy
// GPU under full load shows it.
bool is_throttle_fault(unsigned long long mask);

std::string compute_mode_name(int mode);
std::string virtualization_name(int mode);
std::string fabric_state_name(unsigned char state);
std::string fabric_health_name(unsigned char summary);
// "4.0"; NVML counts versions: 1 is 1.0, 2 is 2.0, 3 is 2.2, 4 is 3.0, ... Empty when it is none of these.
std::string nvlink_version_name(unsigned code);

// Facts from answers. What is not supported is unknown without further words; what was refused or failed is unknown and
// named, since a GPU that does not answer is a finding of its own.
class Answers {
 public:
  void add(std::string name, Return code, Fact value);
  // `call` fills a Raw; `convert` makes a fact of it.
  template <class Raw, class Call, class Convert>
  void ask(std::string name, Call call, Convert convert) {
    Raw raw{};
    const Return code = call(raw);
    add(std::move(name), code, code == Return::success ? Fact(convert(raw)) : Fact());
  }
  template <class Raw, class Call>
  void ask(std::string name, Call call) {
    ask<Raw>(std::move(name), call, [](Raw raw) { return static_cast<std::int64_t>(raw); });
  }

  // With gpu_lost, no_permission and failed_queries (names, joined by commas) where there is something to say.
  Facts take() &&;

 private:
  Facts facts_;
  bool lost_ = false;
  std::string refused_;
  std::string failed_;
};

}  // namespace claimcheck::kernels::cuda::nvml
