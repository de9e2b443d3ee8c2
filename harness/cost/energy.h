// What a useful EFLOP takes of electricity, from the power measured while it was computed. Pure.
//   watts           sum over the devices of the mean power during the GEMM that speaks for the rate (GPUs alone: host,
//                   fans and cooling are in the PUE or not counted)
//   J per EFLOP     watts / useful TFLOPS x 1e6            (W / (1e12 FLOP/s) is J per 1e12 FLOP)
//   kWh per EFLOP   J / 3.6e6
//   money           kWh x PUE x price of a kWh
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cost/cost.h"
#include "harness/result/document.h"

namespace claimcheck {

// {watts, devices, joules_per_eflop, kwh_per_eflop, pue, money_per_eflop}; money is null without a price. Null when the
// power of a device was not measured.
nlohmann::json energy_json(const Document& document, const UsefulRate& useful, const CostOptions& options);

}  // namespace claimcheck
