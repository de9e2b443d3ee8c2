// What a useful FLOP costs: measured here, measured elsewhere, and estimated for the catalog, ranked.
//
// Formulas
//   useful TFLOPS = slowest device's median of the best shape on random data x devices x measured scaling efficiency
//     GPUs: efficiency is scaling.gemm.efficiency at the largest rank count. The host device: its GEMM already uses all
//     cores at once, so nothing is lost to scaling and the factor is 1 by construction.
//   $ per useful EFLOP = price per hour / (useful TFLOPS x 3600 / 1e6)          (1 EFLOP = 1e6 TFLOP)
//   catalog estimate of useful TFLOPS = dense claim x typical ratio x devices x assumed scaling (1 for one device)
//   with fees (fees.h) price per hour is the machine's and theirs
//   spot, where checkpoints were measured and --interrupted-every is given: useful TFLOPS x goodput (goodput.h)
// Source: the project's design, section 6; facts F1 to F3 and F7. docs/cost.md defines every column.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/cost/fees.h"
#include "harness/cost/price.h"
#include "harness/result/document.h"

namespace claimcheck {

struct UsefulRate {
  std::string data_type;  // "bf16"
  double tflops = 0;      // of the whole node
  double per_device = 0;
  int devices = 1;
  double scaling = 1;
  bool scaling_assumed = false;
  std::string basis;           // one sentence: where each factor comes from
  std::string measurement_id;  // the GEMM that speaks
  bool on_host = false;        // measured on a CPU
  bool is_virtual = false;
};

// bf16 when measured, else the fastest measured of tf32, fp16, fp32, fp64; `data_type` chooses. Unset when no such GEMM
// is usable in the document. `assumed_scaling` counts where several devices worked and no scaling was measured.
std::optional<UsefulRate> useful_rate(const Document& document, const std::string& data_type = "",
                                      double assumed_scaling = 0.90);

// Both arguments positive.
double dollars_per_eflop(double price_per_hour, double useful_tflops);

struct CostOptions {
  std::optional<std::string> instance;  // --instance, wins over what the document says
  std::optional<Quote> price;           // --price
  std::string currency = "USD";         // rows are shown in it where a rate is known
  std::string term;                     // empty: all of on_demand, spot, reserved_1y, reserved_3y
  Rates rates;                          // --fx, win over the catalog's
  std::string data_type;                // empty: see useful_rate(); bf16 without a result
  std::string provider;                 // only this provider's catalog rows
  std::size_t top = 25;                 // catalog rows shown, 0: all; measured rows are always shown
  double assumed_scaling = 0.90;        // of estimates with more than one accelerator
  // Mean time between interruptions of spot machines; set: measured checkpoints give their goodput. Nothing is assumed.
  std::optional<double> seconds_between_interruptions;
  Usage usage;                      // data kept and sent out, whose fees are then part of every row
  std::optional<double> kwh_price;  // of electricity, in `currency`
  double pue = 1;                   // power of the facility / power of its machines
  std::string today;                // ISO date; empty: the clock's
  bool allow_virtual = false;
};

// A document and what to call it in the table; the first is "this machine" unless `label` says otherwise.
struct PricedResult {
  std::string label;
  const Document* document = nullptr;
};

// The `cost` key of a result document (docs/cost.md). Throws UserError: unknown data type, unknown instance without a
// price, virtual document. What cannot be priced has a row without a price and a note that says why.
nlohmann::json cost_json(const std::vector<PricedResult>& results, const Catalog& catalog, const CostOptions& options);

// The table of a cost_json(), at most 100 columns.
std::string cost_text(const nlohmann::json& cost);

// The comparison of --on-demand P --reserved P --years N, as JSON and as text.
// `upfront`: paid at the start for the same unit (node or GPU) as `reserved`.
nlohmann::json terms_json(const Quote& on_demand, const Quote& reserved, double years, double upfront = 0);
std::string terms_text(const nlohmann::json& terms);

}  // namespace claimcheck
