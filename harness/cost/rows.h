// Rows of the cost table: one a platform and term, measured or estimated.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/cost/cost.h"
#include "harness/cost/list_price.h"

namespace claimcheck {

// What an hour costs, and how sure that is.
struct HourPrice {
  double per_node = 0;
  std::optional<double> per_gpu;
  std::string currency;
  std::string term;
  std::string payment;
  std::string region;
  std::string as_of;
  std::string source;  // "--price", or the title of the catalog's source
  std::string note;
};

// The tools every row is made with: exchange, ages, the catalog.
class Pricing {
 public:
  Pricing(const Catalog& catalog, const CostOptions& options);

  const Catalog& catalog() const { return catalog_; }
  const CostOptions& options() const { return options_; }
  const std::string& today() const { return today_; }
  const Rates& rates() const { return rates_; }

  bool wants(const std::string& term) const { return options_.term.empty() || options_.term == term; }
  HourPrice of_list(const ListPrice& price) const;
  // Unset with the reason in `why` when the quote is per GPU and there is none.
  std::optional<HourPrice> of_quote(const Quote& quote, int accelerators, std::string& why) const;

  // per_hour, per_gpu_hour, currency (the one asked for where a rate is known), term, region, price{...}, and per_eflop
  // where `useful_tflops` is known. With data kept or sent out also fees{...} (fees.h), and per_eflop holds them: it is
  // null where they are unknown.
  nlohmann::json row(const HourPrice& price, std::optional<double> useful_tflops, const std::string& provider) const;

 private:
  const Catalog& catalog_;
  const CostOptions& options_;
  Rates rates_;
  std::string today_;
};

// Rows of one result: as quoted, and at list price where that is free or nothing was quoted. Adds to `result` what the
// headline says (useful rate, claimed figure). The platform is nullptr when unknown.
std::vector<nlohmann::json> result_rows(const Pricing& pricing, const PricedResult& priced, const Platform* platform,
                                        const std::optional<Quote>& quote, nlohmann::json& result);

// Estimates of every platform of the catalog that has a price and a figure for the data type; what has none is counted
// in `left_out`.
struct LeftOut {
  std::size_t without_price = 0;
  std::size_t without_figure = 0;
};
std::vector<nlohmann::json> catalog_rows(const Pricing& pricing, const std::string& data_type, LeftOut& left_out);

// One platform: {id, accelerator, ..., prices[], useful{}} for `cost --instance`.
nlohmann::json instance_json(const Pricing& pricing, const Platform& platform, const std::string& data_type);

}  // namespace claimcheck
