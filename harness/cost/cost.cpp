#include "harness/cost/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/cost/rows.h"
#include "harness/error.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/nearest.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr std::size_t unranked_shown = 5;  // of each currency without a rate

std::string checked_data_type(const std::string& data_type) {
  if (data_type.empty()) return {};
  const std::string metric = gemm_metric(data_type);
  if (metric.empty()) {
    throw UserError(
        fmt::format("data type '{}' is not known: expected fp64, fp32, tf32, fp16, bf16, fp8_e4m3, "
                    "fp8_e5m2, fp4 or int8",
                    data_type));
  }
  return gemm_data_type(metric);
}

const Platform* asked_platform(const Catalog& catalog, const CostOptions& options) {
  if (!options.instance) return nullptr;
  const Platform* platform = catalog.find_platform(*options.instance);
  if (platform != nullptr || options.price) return platform;
  const std::string near = quoted_choice(catalog.near_platforms(*options.instance));
  throw UserError(fmt::format("instance '{}' is not in the catalog{}; give --price to price it all the same",
                              *options.instance, near.empty() ? "" : ", did you mean " + near + "?"));
}

void refuse_virtual(const PricedResult& result, const CostOptions& options) {
  if (!result.document->is_virtual || options.allow_virtual) return;
  throw UserError(
      fmt::format("{} was measured on a virtual device, and a virtual figure is no price; "
                  "--allow-virtual shows it all the same",
                  result.label));
}

// The price a stored result was run with: what its user said, not what the catalog said then.
std::optional<Quote> stored_quote(const Document& document) {
  const auto price = document.platform.find("price");
  if (price == document.platform.end() || text_at(*price, "source") != "--price") return std::nullopt;
  const auto amount = number_at(*price, "/per_hour");
  const std::string currency = text_at(*price, "currency");
  if (!amount || *amount < 0 || currency.empty()) return std::nullopt;
  return Quote{*amount, currency, text_at(*price, "unit") == "gpu-hour" ? PricedUnit::gpu_hour : PricedUnit::node_hour};
}

bool ranked(const json& row) {
  return row["converted"].get<bool>() && row["per_eflop"].is_number() && row["per_eflop"].get<double>() > 0;
}

double rate_of(const json& row) { return row["per_eflop"].get<double>(); }

// Of a row whose fees, if there are any, are known.
double paid_per_hour(const json& row) {
  return row["per_hour"].get<double>() + (row.contains("fees") ? row["fees"]["per_hour"].get<double>() : 0);
}

// Ranked rows first, by price of a useful FLOP; free ones and those without a rate or a figure have no rank.
void rank(std::vector<json>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const json& a, const json& b) {
    if (ranked(a) != ranked(b)) return ranked(a);
    if (!ranked(a)) {
      const bool measured = a["kind"] == "measured";
      if (measured != (b["kind"] == "measured")) return measured;
      if (a["currency"] != b["currency"]) return a["currency"] < b["currency"];
      return a["per_eflop"].is_number() && (!b["per_eflop"].is_number() || rate_of(a) < rate_of(b));
    }
    return rate_of(a) < rate_of(b);
  });
  int next = 1;
  for (json& row : rows) row["rank"] = ranked(row) ? json(next++) : json(nullptr);
}

struct Shown {
  json rows = json::array();
  std::size_t ranked_hidden = 0;
  std::map<std::string, std::size_t> unconverted;  // rows by currency, shown or not
};

Shown shown_rows(std::vector<json> rows, const std::string& own_instance, std::size_t top) {
  Shown shown;
  std::size_t catalog_ranked = 0;
  for (json& row : rows) {
    const bool keep = row["kind"] == "measured" || (!own_instance.empty() && row["instance"] == own_instance);
    if (!row["converted"].get<bool>()) {
      const std::size_t count = ++shown.unconverted[row["currency"].get<std::string>()];
      if (keep || top == 0 || count <= std::min(top, unranked_shown)) shown.rows.push_back(std::move(row));
      continue;
    }
    if (row["kind"] != "measured") ++catalog_ranked;
    if (keep || top == 0 || catalog_ranked <= top) {
      shown.rows.push_back(std::move(row));
    } else {
      ++shown.ranked_hidden;
    }
  }
  return shown;
}

// What the figure becomes when one factor changes: price of the machine by a tenth, scaling by five points.
json sensitivity(const json& row, std::optional<double> scaling) {
  const double per_eflop = rate_of(row);
  const double tenth = per_eflop * row["per_hour"].get<double>() / paid_per_hour(row) / 10;
  json what = {{"price_minus_10", per_eflop - tenth}, {"price_plus_10", per_eflop + tenth}};
  if (scaling && *scaling > 0.05) {
    const double low = *scaling - 0.05;
    const double high = std::min(1.0, *scaling + 0.05);
    what["scaling_low"] = {{"scaling", low}, {"per_eflop", per_eflop * *scaling / low}};
    what["scaling_high"] = {{"scaling", high}, {"per_eflop", per_eflop * *scaling / high}};
  }
  return what;
}

class Builder {
 public:
  Builder(const std::vector<PricedResult>& results, const Catalog& catalog, const CostOptions& options)
      : results_(results), catalog_(catalog), options_(options), pricing_(catalog, options_) {
    options_.data_type = checked_data_type(options.data_type);
    asked_ = asked_platform(catalog, options_);
    for (const PricedResult& result : results) refuse_virtual(result, options_);
    if (results.empty() && options_.price && asked_ == nullptr) {
      throw UserError("--price needs something to price: a result file, or --instance with a type of the catalog");
    }
  }

  json build() {
    cost_["currency"] = options_.currency;
    cost_["date"] = pricing_.today();
    cost_["results"] = json::array();
    for (std::size_t i = 0; i < results_.size(); ++i) add_result(results_[i], i == 0);
    data_type_ = options_.data_type;
    for (const json& result : cost_["results"]) {
      if (data_type_.empty() && !result["useful"].is_null()) data_type_ = result["useful"]["data_type"];
    }
    if (data_type_.empty()) data_type_ = "bf16";
    cost_["data_type"] = data_type_;
    if (results_.empty() && asked_ != nullptr) add_instance();
    add_catalog();
    return std::move(cost_);
  }

 private:
  void add_result(const PricedResult& priced, bool first) {
    const Platform* platform = platform_of(*priced.document, catalog_);
    if (first && options_.instance) platform = asked_;
    std::optional<Quote> quote = first && options_.price ? options_.price : stored_quote(*priced.document);
    json result = json::object();
    for (json& row : result_rows(pricing_, priced, platform, quote, result)) {
      if (platform != nullptr && row["price"]["source"] != "--price") measured_.insert({platform->id, row["term"]});
      add_comparison(row, result);
      rows_.push_back(std::move(row));
    }
    result["virtual"] = priced.document->is_virtual;
    cost_["results"].push_back(std::move(result));
  }

  // The headline of a result is its first row that costs something.
  static void add_comparison(const json& row, json& result) {
    if (result.contains("per_eflop") || !row["per_eflop"].is_number() || row["per_eflop"].get<double>() <= 0) return;
    result["per_eflop"] = rate_of(row);
    result["currency"] = row["currency"];
    if (result.contains("claimed_tflops")) {
      result["claimed_per_eflop"] = dollars_per_eflop(paid_per_hour(row), result["claimed_tflops"]);
    }
    if (result["training"].is_object())
      result["training"]["per_eflop"] = dollars_per_eflop(paid_per_hour(row), result["training"]["tflops"]);
    const json& useful = result["useful"];
    const bool scales = useful["devices"].get<int>() > 1;
    result["sensitivity"] = sensitivity(row, scales ? std::optional(useful["scaling"].get<double>()) : std::nullopt);
    if (result["training"].is_object()) add_utilisation(result["training"], result["sensitivity"]);
  }

  // What a FLOP of the model costs at five points of MFU less and more.
  static void add_utilisation(const json& training, json& sensitivity) {
    if (!training["mfu"].is_number() || training["mfu"].get<double>() <= 0.05) return;
    const double mfu = training["mfu"];
    for (const auto& [key, at] : {std::pair("mfu_low", mfu - 0.05), std::pair("mfu_high", std::min(1.0, mfu + 0.05))})
      sensitivity[key] = {{"mfu", at}, {"per_eflop", training["per_eflop"].get<double>() * mfu / at}};
  }

  void add_instance() {
    json instance = instance_json(pricing_, *asked_, data_type_);
    const auto useful =
        instance["useful_tflops"].is_number() ? std::optional(instance["useful_tflops"].get<double>()) : std::nullopt;
    if (options_.price) {
      std::string why;
      if (const auto price = pricing_.of_quote(*options_.price, asked_->accelerator_count.value_or(0), why)) {
        json row = pricing_.row(*price, useful, asked_->provider);
        instance["prices"].insert(instance["prices"].begin(), row);
        row["label"] = asked_->id + ", your price";
        row["instance"] = asked_->id;
        row["kind"] = "estimate";
        row["basis"] = instance.value("basis", "");
        row["stand_in"] = false;
        if (price->per_node == 0) row["note"] = "free while the trial lasts";
        rows_.push_back(std::move(row));
      } else {
        instance["note"] = why;
      }
    }
    for (const json& row : instance["prices"]) {
      if (!row["per_eflop"].is_number() || rate_of(row) <= 0) continue;
      const bool scales = asked_->accelerator_count.value_or(0) > 1;
      instance["sensitivity"] = sensitivity(row, scales ? std::optional(options_.assumed_scaling) : std::nullopt);
      break;
    }
    cost_["instance"] = std::move(instance);
  }

  void add_catalog() {
    LeftOut left_out;
    for (json& row : catalog_rows(pricing_, data_type_, left_out)) {
      if (measured_.count({row["instance"].get<std::string>(), row["term"].get<std::string>()}) != 0) continue;
      rows_.push_back(std::move(row));
    }
    rank(rows_);
    const auto without_fees = std::count_if(rows_.begin(), rows_.end(), [](const json& row) {
      return row.contains("fees") && !row["fees"]["per_hour"].is_number();
    });
    Shown shown = shown_rows(std::move(rows_), asked_ == nullptr ? "" : asked_->id, options_.top);
    cost_["rows"] = std::move(shown.rows);
    cost_["hidden_rows"] = shown.ranked_hidden;
    cost_["assumed_scaling"] = options_.assumed_scaling;
    cost_["rates"] = pricing_.rates();
    cost_["without_price"] = left_out.without_price;
    cost_["without_figure"] = left_out.without_figure;
    cost_["unconverted"] = shown.unconverted;
    if (!options_.usage.any()) return;
    cost_["without_fees"] = without_fees;
    cost_["usage"] = {{"storage_gb", options_.usage.storage_gb},
                      {"egress_gb", options_.usage.egress_gb},
                      {"hours", options_.usage.hours}};
  }

  const std::vector<PricedResult>& results_;
  const Catalog& catalog_;
  CostOptions options_;
  Pricing pricing_;
  const Platform* asked_ = nullptr;
  std::string data_type_;
  std::vector<json> rows_;
  std::set<std::pair<std::string, std::string>> measured_;  // platform and term that have a measured row
  json cost_ = json::object();
};

}  // namespace

json cost_json(const std::vector<PricedResult>& results, const Catalog& catalog, const CostOptions& options) {
  return Builder(results, catalog, options).build();
}

}  // namespace claimcheck
