#include "harness/cost/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/cost/energy.h"
#include "harness/cost/goodput.h"
#include "harness/cost/training.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/physics.h"
#include "harness/judge/sustained.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// Of one accelerator in one data type: how much of its dense claim counts as useful.
struct Estimate {
  double dense = 0;
  Sustained sustained;
};

std::optional<Estimate> estimate_of(const Catalog& catalog, const Accelerator& accelerator,
                                    const std::string& data_type) {
  const auto dense = dense_claim(accelerator, data_type);
  if (!dense || *dense <= 0) return std::nullopt;
  const auto sustained = sustained_gemm_share(catalog, accelerator, data_type);
  if (!sustained) return std::nullopt;
  return Estimate{*dense, *sustained};
}

double assumed_scaling(const CostOptions& options, int count) { return count > 1 ? options.assumed_scaling : 1; }

double useful_estimate(const Estimate& estimate, const CostOptions& options, int count) {
  return estimate.dense * estimate.sustained.share * count * assumed_scaling(options, count);
}

std::string estimate_basis(const Estimate& estimate, const CostOptions& options, int count) {
  const std::string scaling =
      count > 1 ? fmt::format(" x {} (scaling assumed)", number_text(assumed_scaling(options, count))) : "";
  return fmt::format("{} dense x {} typical ({}) x {}{}", exact_text(estimate.dense),
                     share_text(estimate.sustained.share), estimate.sustained.basis, count, scaling);
}

void mark_estimate(json& row, const Estimate& estimate, const CostOptions& options, int count) {
  row["kind"] = "estimate";
  row["basis"] = estimate_basis(estimate, options, count);
  row["stand_in"] = !estimate.sustained.own;
}

// What the price would buy if the data sheet were true: dense claim, no loss.
void add_claimed(const Pricing& pricing, const Platform& platform, const std::string& data_type, json& result) {
  const Accelerator* accelerator = pricing.catalog().find_accelerator(platform.accelerator);
  if (accelerator == nullptr || platform.accelerator_count.value_or(0) <= 0) return;
  const auto dense = dense_claim(*accelerator, data_type);
  if (dense) result["claimed_tflops"] = *dense * *platform.accelerator_count;
}

json useful_json(const UsefulRate& useful) {
  return {{"data_type", useful.data_type},   {"tflops", useful.tflops},
          {"per_device", useful.per_device}, {"devices", useful.devices},
          {"scaling", useful.scaling},       {"scaling_assumed", useful.scaling_assumed},
          {"basis", useful.basis},           {"measurement_id", useful.measurement_id},
          {"on_host", useful.on_host}};
}

// The useful rate, unless the measurement it rests on cannot be true.
std::optional<UsefulRate> trusted_rate(const Pricing& pricing, const Document& document, std::string& why) {
  const std::string& data_type = pricing.options().data_type;
  auto useful = useful_rate(document, data_type, pricing.options().assumed_scaling);
  if (!useful) {
    why = fmt::format("no usable {} matrix multiply in this result",
                      data_type.empty() ? "bf16, fp32 or other" : data_type);
    return std::nullopt;
  }
  for (const Measurement& measurement : document.measurements) {
    if (measurement.id != useful->measurement_id || measurement.metric != gemm_metric(useful->data_type)) continue;
    if (auto reason = implausible(document, measurement, pricing.catalog())) {
      why = *reason;
      return std::nullopt;
    }
  }
  return useful;
}

class ResultRows {
 public:
  ResultRows(const Pricing& pricing, const PricedResult& priced, const Platform* platform, json& result)
      : pricing_(pricing), label_(priced.label), platform_(platform), result_(result) {
    provider_ = platform == nullptr ? text_at(priced.document->platform, "provider") : platform->provider;
    std::string why;
    useful_ = trusted_rate(pricing, *priced.document, why);
    if (!why.empty()) result_["note"] = why;
    accelerators_ = platform == nullptr ? 0 : platform->accelerator_count.value_or(0);
    if (accelerators_ <= 0 && useful_ && !useful_->on_host) accelerators_ = useful_->devices;
    if (accelerators_ <= 0) {
      accelerators_ = static_cast<int>(accelerators_seen(*priced.document).value_or(std::vector<std::string>{}).size());
    }
    if (useful_ && useful_->on_host && accelerators_ > 0) {
      result_["note"] = "the CPU was measured, not the accelerators of this machine";
    }
    result_["label"] = label_;
    result_["instance"] = platform == nullptr ? json(nullptr) : json(platform->id);
    result_["useful"] = useful_ ? useful_json(*useful_) : json(nullptr);
    result_["training"] = training_json(*priced.document, pricing.catalog());
    if (useful_) result_["energy"] = energy_json(*priced.document, *useful_, pricing.options());
    set_goodput(*priced.document);
    if (useful_ && platform != nullptr && !useful_->on_host)
      add_claimed(pricing, *platform, useful_->data_type, result_);
    if (useful_ && result_.contains("claimed_tflops"))
      result_["useful_share"] = useful_->tflops / result_["claimed_tflops"].get<double>();
  }

  void add_quote(const Quote& quote) {
    std::string why;
    const auto price = pricing_.of_quote(quote, accelerators_, why);
    if (!price) {
      result_["note"] = why;
      return;
    }
    add(*price, label_);
    if (price->per_node == 0) rows_.back()["note"] = "free while the trial lasts";
  }

  void add_list(const std::string& region, const std::string& label) {
    if (platform_ == nullptr) return;
    for (const ListPrice& price : cheapest_by_term(list_prices(pricing_.catalog(), *platform_), region)) {
      if (!pricing_.wants(price.term)) continue;
      add(pricing_.of_list(price), label);
    }
  }

  std::vector<json> take() { return std::move(rows_); }
  bool empty() const { return rows_.empty(); }

 private:
  void add(const HourPrice& price, const std::string& label) {
    std::optional<double> tflops = useful_ ? std::optional(useful_->tflops) : std::nullopt;
    const bool interrupted = price.term == "spot" && goodput_.has_value() && tflops.has_value();
    if (interrupted) *tflops *= goodput_->share;
    json row = pricing_.row(price, tflops, provider_);
    if (interrupted) row["goodput"] = {{"share", goodput_->share}, {"save_every_seconds", goodput_->interval_seconds}};
    row["label"] = label;
    row["instance"] = platform_ == nullptr ? json(nullptr) : json(platform_->id);
    row["kind"] = "measured";
    row["basis"] = useful_ ? useful_->basis : result_.value("note", "");
    if (interrupted) row["basis"] = useful_->basis + goodput_basis();
    rows_.push_back(std::move(row));
  }

  void set_goodput(const Document& document) {
    times_ = checkpoint_times(document);
    const auto& between = pricing_.options().seconds_between_interruptions;
    if (!times_) return;
    result_["checkpoint"] = {
        {"save_seconds", times_->save_seconds},
        {"restore_seconds", times_->restore_seconds ? json(*times_->restore_seconds) : json(nullptr)},
        {"bytes", times_->bytes},
        {"location", times_->given_place ? "checkpoint_dir" : "scratch"}};
    if (between) goodput_ = goodput(*times_, *between);
  }

  std::string goodput_basis() const {
    return fmt::format(" x {} (goodput: an interruption every {:.3g} h, {:.3g} s to save {}, a save every {:.0f} s{})",
                       share_text(goodput_->share), *pricing_.options().seconds_between_interruptions / 3600,
                       times_->save_seconds, times_->preset.empty() ? "the states" : times_->preset,
                       goodput_->interval_seconds,
                       times_->given_place ? "" : ", on a disk that may go with the machine");
  }

  const Pricing& pricing_;
  std::string label_;
  std::string provider_;
  const Platform* platform_;
  json& result_;
  std::optional<CheckpointTimes> times_;
  std::optional<Goodput> goodput_;
  std::optional<UsefulRate> useful_;
  int accelerators_ = 0;
  std::vector<json> rows_;
};

}  // namespace

std::vector<json> result_rows(const Pricing& pricing, const PricedResult& priced, const Platform* platform,
                              const std::optional<Quote>& quote, json& result) {
  ResultRows rows(pricing, priced, platform, result);
  if (quote) rows.add_quote(*quote);
  const std::string region = text_at(priced.document->platform, "region");
  if (!quote) {
    rows.add_list(region, priced.label);
  } else if (quote->amount == 0) {
    rows.add_list(region, priced.label + ", at list price");
  }
  if (rows.empty() && !result.contains("note")) {
    result["note"] = platform == nullptr ? "no price is known: give --price, or --instance for the list price"
                                         : "the catalog has no price for it: give --price";
  }
  return rows.take();
}

std::vector<json> catalog_rows(const Pricing& pricing, const std::string& data_type, LeftOut& left_out) {
  const Catalog& catalog = pricing.catalog();
  std::map<std::string, std::optional<Estimate>> estimates;
  for (const Accelerator& accelerator : catalog.accelerators) {
    estimates[accelerator.id] = estimate_of(catalog, accelerator, data_type);
  }
  std::vector<json> rows;
  for (const Platform& platform : catalog.platforms) {
    if (!pricing.options().provider.empty() && platform.provider != pricing.options().provider) continue;
    const auto estimate = estimates.find(platform.accelerator);
    const int count = platform.accelerator_count.value_or(0);
    if (estimate == estimates.end() || !estimate->second || count <= 0) {
      ++left_out.without_figure;
      continue;
    }
    const std::vector<ListPrice> prices = cheapest_by_term(list_prices(catalog, platform));
    if (prices.empty()) ++left_out.without_price;
    const double useful = useful_estimate(*estimate->second, pricing.options(), count);
    for (const ListPrice& price : prices) {
      if (!pricing.wants(price.term)) continue;
      json row = pricing.row(pricing.of_list(price), useful, platform.provider);
      row["label"] = platform.id;
      row["instance"] = platform.id;
      mark_estimate(row, *estimate->second, pricing.options(), count);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

json instance_json(const Pricing& pricing, const Platform& platform, const std::string& data_type) {
  const Catalog& catalog = pricing.catalog();
  const int count = platform.accelerator_count.value_or(0);
  const Accelerator* accelerator =
      platform.accelerator.empty() ? nullptr : catalog.find_accelerator(platform.accelerator);
  const auto estimate = accelerator == nullptr ? std::nullopt : estimate_of(catalog, *accelerator, data_type);
  json instance = {{"id", platform.id},
                   {"accelerator", accelerator == nullptr ? json(nullptr) : json(accelerator->name)},
                   {"accelerator_count", count > 0 ? json(count) : json(nullptr)},
                   {"data_type", data_type},
                   {"useful_tflops", nullptr},
                   {"prices", json::array()}};
  std::optional<double> useful;
  if (estimate && count > 0) {
    useful = useful_estimate(*estimate, pricing.options(), count);
    instance["useful_tflops"] = *useful;
    instance["basis"] = estimate_basis(*estimate, pricing.options(), count);
    instance["scaling"] = assumed_scaling(pricing.options(), count);
  }
  for (const ListPrice& price : list_prices(catalog, platform)) {
    if (pricing.wants(price.term))
      instance["prices"].push_back(pricing.row(pricing.of_list(price), useful, platform.provider));
  }
  json unknown = json::array();
  for (const char* term : {"on_demand", "spot", "reserved_1y", "reserved_3y"}) {
    const bool known = std::any_of(instance["prices"].begin(), instance["prices"].end(),
                                   [&](const json& row) { return row["term"] == term; });
    if (!known && pricing.wants(term)) unknown.push_back(term);
  }
  instance["unknown_terms"] = unknown;
  return instance;
}

}  // namespace claimcheck
