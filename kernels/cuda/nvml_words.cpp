#include "kernels/cuda/nvml_words.h"

#include <fmt/format.h>

#include <array>

namespace claimcheck::kernels::cuda::nvml {

namespace {

struct Reason {
  unsigned long long bit;
  std::string_view name;
};

constexpr std::array reasons = {Reason{reason_gpu_idle, "gpu_idle"},
                                Reason{reason_application_clocks, "application_clocks"},
                                Reason{reason_sw_power_cap, "sw_power_cap"},
                                Reason{reason_hw_slowdown, "hw_slowdown"},
                                Reason{reason_sync_boost, "sync_boost"},
                                Reason{reason_sw_thermal, "sw_thermal_slowdown"},
                                Reason{reason_hw_thermal, "hw_thermal_slowdown"},
                                Reason{reason_hw_power_brake, "hw_power_brake"},
                                Reason{reason_display_clock, "display_clock"}};

void append(std::string& list, std::string_view word) {
  if (!list.empty()) list += ',';
  list += word;
}

template <std::size_t Count>
std::string name_of(const std::array<std::string_view, Count>& names, std::size_t code) {
  return code < Count ? std::string(names[code]) : fmt::format("code {}", code);
}

}  // namespace

std::string throttle_names(unsigned long long mask) {
  std::string names;
  for (const Reason& reason : reasons) {
    if ((mask & reason.bit) != 0) append(names, reason.name);
    mask &= ~reason.bit;
  }
  if (mask != 0) append(names, fmt::format("0x{:x}", mask));
  return names;
}

bool is_throttle_fault(unsigned long long mask) {
  return (mask & (reason_hw_slowdown | reason_sw_thermal | reason_hw_thermal | reason_hw_power_brake)) != 0;
}

std::string compute_mode_name(int mode) {
  constexpr std::array<std::string_view, 4> names = {"default", "exclusive_thread", "prohibited", "exclusive_process"};
  return name_of(names, static_cast<std::size_t>(mode));
}

std::string virtualization_name(int mode) {
  constexpr std::array<std::string_view, 5> names = {"none", "passthrough", "vgpu", "host_vgpu", "host_vsga"};
  return name_of(names, static_cast<std::size_t>(mode));
}

std::string fabric_state_name(unsigned char state) {
  constexpr std::array<std::string_view, 4> names = {"not_supported", "not_started", "in_progress", "completed"};
  return name_of(names, state);
}

std::string fabric_health_name(unsigned char summary) {
  constexpr std::array<std::string_view, 4> names = {"not_supported", "healthy", "unhealthy", "limited_capacity"};
  return name_of(names, summary);
}

std::string nvlink_version_name(unsigned code) {
  constexpr std::array<std::string_view, 9> names = {"", "1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0", "6.0"};
  return code < names.size() ? std::string(names[code]) : std::string();
}

void Answers::add(std::string name, Return code, Fact value) {
  switch (code) {
    case Return::success:
      break;
    case Return::gpu_is_lost:
      lost_ = true;
      break;
    case Return::no_permission:
      append(refused_, name);
      break;
    case Return::not_supported:
    case Return::function_not_found:
    case Return::invalid_argument:
    case Return::not_found:
    case Return::argument_version_mismatch:
    case Return::deprecated:
      break;
    default:
      append(failed_, name);
  }
  if (code != Return::success) value.emplace<std::monostate>();
  facts_.emplace_back(std::move(name), std::move(value));
}

Facts Answers::take() && {
  if (lost_) facts_.emplace_back("gpu_lost", true);
  if (!refused_.empty()) facts_.emplace_back("no_permission", std::move(refused_));
  if (!failed_.empty()) facts_.emplace_back("failed_queries", std::move(failed_));
  return std::move(facts_);
}

}  // namespace claimcheck::kernels::cuda::nvml
