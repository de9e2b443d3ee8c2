// Statements about prices and data sheets, looked up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/cost/list_price.h"
#include "harness/cost/money.h"
#include "harness/guides/statements.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/quantity.h"

namespace claimcheck::guides {
namespace {

using nlohmann::json;

constexpr double of_price = 0.05;  // guides round
constexpr double of_fact = 0.01;   // data sheets do not move

bool close(double a, double b, double tolerance = of_fact) { return b > 0 && std::abs(a / b - 1) <= tolerance; }

std::vector<const Platform*> platforms_of(const json& statement, const Catalog& catalog) {
  std::vector<const Platform*> found;
  for (const json& id : statement.at("about")) {
    if (const Platform* platform = catalog.find_platform(id.get<std::string>())) found.push_back(platform);
  }
  return found;
}

std::vector<const Accelerator*> accelerators_of(const json& statement, const Catalog& catalog) {
  std::vector<const Accelerator*> found;
  for (const json& id : statement.at("about")) {
    if (const Accelerator* card = catalog.find_accelerator(id.get<std::string>())) found.push_back(card);
  }
  for (const Platform* platform : platforms_of(statement, catalog)) {
    if (const Accelerator* card = catalog.find_accelerator(platform->accelerator)) found.push_back(card);
  }
  return found;
}

std::string term_of(const json& statement) {
  const std::string term = text_at(statement, "term");
  if (term == "on-demand") return "on_demand";
  if (term == "reserved 1y") return "reserved_1y";
  if (term == "reserved 3y") return "reserved_3y";
  return term;
}

std::string told(const std::string& what, double claimed, const std::string& unit, double right) {
  const double ratio = claimed / right;
  const std::string how = close(claimed, right) ? "as the catalog has it"
                          : ratio > 1           ? fmt::format("{:.3g} times that", ratio)
                                                : fmt::format("{} of that", share_text(ratio));
  return fmt::format("{}: {} {}; {} {} is {}", what, number_text(right), unit, exact_text(claimed), unit, how);
}

// The nearest of the platform's own prices and its price per accelerator, of the statement's term and currency.
std::optional<Computed> price(const json& statement, const Catalog& catalog) {
  const double claimed = statement.at("value").get<double>();
  const std::string currency = text_at(statement, "currency");
  std::optional<Computed> best;
  double distance = std::numeric_limits<double>::infinity();
  for (const Platform* platform : platforms_of(statement, catalog)) {
    for (const ListPrice& listed : cheapest_by_term(list_prices(catalog, *platform))) {
      if (listed.term != term_of(statement) || listed.currency != currency) continue;
      const bool single = listed.per_gpu && platform->accelerator_count.value_or(1) > 1 &&
                          std::abs(std::log(claimed / *listed.per_gpu)) < std::abs(std::log(claimed / listed.per_node));
      const double right = single ? *listed.per_gpu : listed.per_node;
      if (std::abs(std::log(claimed / right)) >= distance) continue;
      distance = std::abs(std::log(claimed / right));
      best = Computed{fmt::format("{} {} an hour{} ({}, {}){}", platform->id, price_text(right, currency),
                                  single ? " a GPU" : "", listed.region.empty() ? "no region named" : listed.region,
                                  listed.as_of.empty() ? "undated" : listed.as_of,
                                  close(claimed, right, of_price)
                                      ? ""
                                      : fmt::format("; {} is {:.3g} times that", exact_text(claimed), claimed / right)),
                      close(claimed, right, of_price)};
    }
  }
  return best;
}

std::optional<Computed> network(const json& statement, const Catalog& catalog) {
  const double claimed = statement.at("value").get<double>();
  for (const Platform* platform : platforms_of(statement, catalog)) {
    if (!platform->network_gbps) continue;
    return Computed{told(platform->id + ", all adapters one way", claimed, "Gb/s", *platform->network_gbps),
                    close(claimed, *platform->network_gbps)};
  }
  return std::nullopt;
}

std::optional<Computed> memory(const json& statement, const Catalog& catalog) {
  const double claimed = statement.at("value").get<double>();
  for (const Platform* platform : platforms_of(statement, catalog)) {
    const Accelerator* card = catalog.find_accelerator(platform->accelerator);
    if (card == nullptr || !card->memory_gb || !platform->accelerator_count) continue;
    const double right = *card->memory_gb * *platform->accelerator_count;
    return Computed{told(fmt::format("{} x {} GB", *platform->accelerator_count, exact_text(*card->memory_gb)), claimed,
                         "GB", right),
                    close(claimed, right)};
  }
  return std::nullopt;
}

// "peak BF16" of a chip, or of a node where the statement is about a platform.
std::optional<Computed> peak(const json& statement, const Catalog& catalog) {
  std::string type = text_at(statement, "quantity").substr(std::string_view("peak ").size());
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const double factor = text_at(statement, "unit") == "PFLOPS" ? 1000 : 1;
  const double claimed = statement.at("value").get<double>() * factor;
  const std::vector<const Platform*> platforms = platforms_of(statement, catalog);
  for (const Accelerator* card : accelerators_of(statement, catalog)) {
    const auto dense = dense_claim(*card, type);
    if (!dense) continue;
    const int count =
        statement.at("about").front().get<std::string>().find(':') != std::string::npos && !platforms.empty()
            ? platforms.front()->accelerator_count.value_or(1)
            : 1;
    return Computed{told(fmt::format("{} x {} dense", count, exact_text(*dense)), claimed, "TFLOPS", *dense * count),
                    close(claimed, *dense * count)};
  }
  return std::nullopt;
}

std::optional<Computed> link(const json& statement, const Catalog& catalog) {
  const double claimed = statement.at("value").get<double>();
  for (const Accelerator* card : accelerators_of(statement, catalog)) {
    if (!card->interconnect_gbps) continue;
    const double both = *card->interconnect_gbps;
    return Computed{
        told(fmt::format("{}, both directions (one: {})", card->name, exact_text(both / 2)), claimed, "GB/s", both),
        close(claimed, both)};
  }
  return std::nullopt;
}

// What the catalog's prices save against on demand: of the platforms named, else of all.
std::optional<Computed> saving(const json& statement, const Catalog& catalog, bool ratio) {
  const std::string wanted = term_of(statement);
  std::vector<std::string> terms = {wanted};
  if (wanted.starts_with("reserved") && wanted != "reserved_1y" && wanted != "reserved_3y")
    terms = {"reserved_1y", "reserved_3y"};
  std::vector<const Platform*> platforms = platforms_of(statement, catalog);
  if (platforms.empty())
    for (const Platform& platform : catalog.platforms) platforms.push_back(&platform);
  double least = 1;
  double most = 0;
  int count = 0;
  for (const Platform* platform : platforms) {
    const std::vector<ListPrice> prices = list_prices(catalog, *platform);
    for (const ListPrice& cheap : prices) {
      if (std::find(terms.begin(), terms.end(), cheap.term) == terms.end()) continue;
      for (const ListPrice& full : prices) {
        if (full.term != "on_demand" || full.region != cheap.region || full.currency != cheap.currency) continue;
        const double share = ratio ? cheap.per_node / full.per_node : 1 - cheap.per_node / full.per_node;
        least = std::min(least, share);
        most = std::max(most, share);
        ++count;
      }
    }
  }
  const std::string what = ratio ? "of the on-demand price" : "saved";
  if (count == 0)
    return Computed{fmt::format("the catalog has no {} price beside an on-demand one to compare", wanted), {}};
  const json& value = statement.at("value");
  std::optional<bool> agrees;
  if (value.is_number()) agrees = value.get<double>() / 100 >= least - 0.02 && value.get<double>() / 100 <= most + 0.02;
  return Computed{fmt::format("{} pairs of prices: {} to {} {}", count, percent_text(least), percent_text(most), what),
                  agrees};
}

// Dollars for a dense PFLOP-hour in bf16, on demand.
std::optional<Computed> price_for_performance(const json& statement, const Catalog& catalog) {
  if (statement.at("id") != "G0-15") return std::nullopt;
  std::string text;
  for (const char* id : {"gcp:tpu-v4 (per chip, pod slice)", "gcp:a2-highgpu-1g", "aws:p4d.24xlarge"}) {
    const Platform* platform = catalog.find_platform(id);
    const Accelerator* card = platform == nullptr ? nullptr : catalog.find_accelerator(platform->accelerator);
    const auto dense = card == nullptr ? std::nullopt : dense_claim(*card, "bf16");
    if (!dense) continue;
    for (const ListPrice& listed : cheapest_by_term(list_prices(catalog, *platform))) {
      if (listed.term != "on_demand" || !listed.per_gpu) continue;
      text += fmt::format("{}{} {} a dense bf16 PFLOP-hour", text.empty() ? "" : ", ", id,
                          money_text(*listed.per_gpu / *dense * 1000, listed.currency));
    }
  }
  if (text.empty()) return std::nullopt;
  return Computed{text, {}};
}

}  // namespace

std::optional<Computed> from_catalog(const json& statement, const Catalog& catalog) {
  if (auto found = price_for_performance(statement, catalog)) return found;
  const std::string quantity = text_at(statement, "quantity");
  const std::string term = text_at(statement, "term");
  if (quantity == "saving" && (term.starts_with("reserved") || term == "spot"))
    return saving(statement, catalog, false);
  if (quantity == "price ratio" && !term.empty()) return saving(statement, catalog, true);
  if (!statement.at("value").is_number()) return std::nullopt;
  if (quantity.starts_with("price")) return price(statement, catalog);
  if (quantity == "network") return network(statement, catalog);
  if (quantity == "GPU memory") return memory(statement, catalog);
  if (quantity == "NVLink") return link(statement, catalog);
  if (quantity.starts_with("peak ")) return peak(statement, catalog);
  return std::nullopt;
}

}  // namespace claimcheck::guides
