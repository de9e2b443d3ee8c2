#include "harness/advise/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "harness/cost/list_price.h"
#include "harness/cost/money.h"
#include "harness/judge/number.h"
#include "harness/report/quantity.h"

namespace claimcheck::advise {
namespace {

using nlohmann::json;

constexpr double billion = 1e9;

struct Finding {
  const char* verdict;
  std::string why;
};

class Rules {
 public:
  Rules(const json& rows, const AdviseOptions& options, const Catalog& catalog)
      : rows_(rows), options_(options), catalog_(catalog), need_(training_need(options.workload)) {}

  json all() {
    const double parameters = options_.workload.model.parameters;
    if (parameters >= 50 * billion)
      add({"G0-02"}, "A model of about 100 billion parameters needs an A100 with 80 GB", eighty_gigabytes());
    if (parameters >= 10 * billion)
      add({"G0-37", "G1-33"}, "10 billion parameters and more: A100 80 GB, H100 or TPU v4, nothing smaller",
          large_models());
    if (parameters <= billion)
      add({"G0-35", "G1-33"}, "Under 1 billion parameters: T4 or V100, they cost less", small());
    add({"G1-34"}, "Training needs NVLink (or links like it)", links());
    add({"G0-40", "G1-36"}, "Long projects: reserve", reserved());
    add({"G0-41", "G1-36"}, "Short projects: spot, with checkpoints", spot());
    return std::move(found_);
  }

 private:
  void add(std::vector<std::string> claims, const std::string& rule, const std::optional<Finding>& finding) {
    if (!finding) return;
    found_.push_back(
        {{"claims", std::move(claims)}, {"rule", rule}, {"verdict", finding->verdict}, {"why", finding->why}});
  }

  // The first, that is the best, of the ranked rows.
  const json* first(const std::function<bool(const json&)>& wanted) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const json& row) {
      return row.at("converted").get<bool>() && row.at("accelerator").is_string() && wanted(row);
    });
    return found == rows_.end() ? nullptr : &*found;
  }

  const Accelerator* accelerator(const json& row) const {
    return catalog_.find_accelerator(row.at("accelerator").get<std::string>());
  }

  std::string cost(const json& row) const {
    return fmt::format("{} ({} GPUs, {}, {})", row.at("label").get<std::string>(), row.at("gpus").get<int>(),
                       term_text(row.at("term").get<std::string>()),
                       total_text(row.at("money").get<double>(), row.at("currency").get<std::string>()));
  }

  std::optional<Finding> eighty_gigabytes() const {
    constexpr double small_card = 40e9;
    constexpr double large_card = 80e9;
    const double each = need_.gathered + need_.computed;
    const auto large = gpus_for(need_.states, each, large_card);
    const auto small = gpus_for(need_.states, each, small_card);
    if (!large)
      return Finding{"contradicted", "one sequence does not fit into 80 GB either: tensor parallelism is needed"};
    return Finding{
        "contradicted",
        fmt::format("one such card is far too small and its size is not what decides: the states take {} GB, "
                    "which {} GPUs of 80 GB hold{}",
                    number_text(need_.states / 1e9), *large, small ? fmt::format(", or {} of 40 GB", *small) : "")};
  }

  static bool is_large(const Accelerator& card) {
    return (card.id.find("a100") != std::string::npos && card.memory_gb.value_or(0) >= 80) ||
           card.id.find("h100") != std::string::npos || card.id.find("tpu") != std::string::npos;
  }

  std::optional<Finding> large_models() const {
    constexpr double smaller_card = 40e9;
    const json* other = first([&](const json& row) {
      const Accelerator* card = accelerator(row);
      return card != nullptr && !is_large(*card) && card->memory_gb.value_or(1e9) < 80;
    });
    if (other != nullptr)
      return Finding{"contradicted", fmt::format("sharded over enough smaller cards it fits: {}", cost(*other))};
    const auto cards = gpus_for(need_.states, need_.gathered + need_.computed, smaller_card);
    if (cards)
      return Finding{"open",
                     fmt::format("{} cards of 40 GB would hold it, but no machine with smaller cards does what was "
                                 "asked here",
                                 *cards)};
    constexpr double large_card = 80e9;
    if (gpus_for(need_.states, need_.gathered + need_.computed, large_card))
      return Finding{"holds", "one sequence does not fit into 40 GB, and fits into 80 GB"};
    return Finding{"open", "one sequence does not fit into 80 GB either: it needs tensor parallelism"};
  }

  std::optional<Finding> small() const {
    if (rows_.empty()) return std::nullopt;
    const auto is_old = [&](const json& row) {
      const std::string id = row.at("accelerator").get<std::string>();
      return id.find("-t4") != std::string::npos || id.find("v100") != std::string::npos;
    };
    const json* best = first([](const json&) { return true; });
    const json* old = first(is_old);
    if (best == nullptr) return std::nullopt;
    if (old == nullptr)
      return Finding{"contradicted", "neither T4 nor V100 can do it as asked; " + cost(*best) + " can"};
    if (is_old(*best)) return Finding{"holds", cost(*best) + " costs least"};
    return Finding{"contradicted", fmt::format("{} costs less than {}", cost(*best), cost(*old))};
  }

  // NVLink, xGMI and others of their kind, or nothing but PCIe: of cards where the catalog says which.
  std::optional<bool> has_fast_links(const json& row) const {
    const Accelerator* card = accelerator(row);
    if (card == nullptr || row.at("gpus").get<int>() <= row.at("nodes").get<int>()) return std::nullopt;
    const json link = card->record.value("interconnect", json());
    if (!link.is_string()) return std::nullopt;
    return link != "none";
  }

  std::optional<Finding> links() const {
    const json* fast = first([&](const json& row) { return has_fast_links(row) == true; });
    const json* pcie = first([&](const json& row) { return has_fast_links(row) == false; });
    if (fast == nullptr || pcie == nullptr) return std::nullopt;
    const auto efficiency = [](const json& row) { return row.at("update").at("efficiency").get<double>(); };
    const bool slower = efficiency(*pcie) < 0.9 * efficiency(*fast);
    return Finding{slower ? "holds" : "contradicted",
                   fmt::format("with such links {} keeps {} of its rate, without {} keeps {}", cost(*fast),
                               percent_text(efficiency(*fast)), cost(*pcie), percent_text(efficiency(*pcie)))};
  }

  // Another term of the machine that is best on demand.
  const json* same_machine(const json& row, const std::string& term) const {
    return first([&](const json& other) {
      return other.at("label") == row.at("label") && other.at("term").get<std::string>() == term;
    });
  }

  std::optional<Finding> reserved() const {
    const json* on_demand = first(
        [&](const json& row) { return row.at("term") == "on_demand" && same_machine(row, "reserved_1y") != nullptr; });
    if (on_demand == nullptr) return std::nullopt;
    const json* reserved = same_machine(*on_demand, "reserved_1y");
    const double hourly = on_demand->at("per_hour").get<double>();
    const double even = reserved->at("per_hour").get<double>() / hourly;
    const double used = on_demand->at("seconds").get<double>() / 3600 / reserved->at("paid_hours").get<double>();
    const bool pays = reserved->at("money").get<double>() < on_demand->at("money").get<double>();
    return Finding{
        pays ? "holds" : "contradicted",
        fmt::format("a year of {} pays from {} of its hours on; this work takes {}: {} on demand, {} reserved",
                    on_demand->at("label").get<std::string>(), percent_text(even), percent_text(used),
                    money(*on_demand), money(*reserved))};
  }

  static std::string money(const json& row) {
    return total_text(row.at("money").get<double>(), row.at("currency").get<std::string>());
  }

  std::optional<Finding> spot() const {
    const json* on_demand =
        first([&](const json& row) { return row.at("term") == "on_demand" && same_machine(row, "spot") != nullptr; });
    if (on_demand == nullptr) return std::nullopt;
    const json* spot = same_machine(*on_demand, "spot");
    const bool counted = spot->at("goodput").at("spot_counted").get<bool>();
    const bool pays = spot->at("money").get<double>() < on_demand->at("money").get<double>();
    const std::string prices = fmt::format("{}: {} spot, {} on demand", on_demand->at("label").get<std::string>(),
                                           money(*spot), money(*on_demand));
    if (!counted)
      return Finding{
          "open",
          prices + "; how often spot is taken away is not known (--interrupted-every), so its loss is not counted"};
    return Finding{pays ? "holds" : "contradicted",
                   fmt::format("{}, {} of the time left after interruptions", prices,
                               percent_text(spot->at("goodput").at("share").get<double>()))};
  }

  const json& rows_;
  const AdviseOptions& options_;
  const Catalog& catalog_;
  Need need_;
  json found_ = json::array();
};

}  // namespace

json rules_of_thumb(const json& rows, const AdviseOptions& options, const Catalog& catalog) {
  return Rules(rows, options, catalog).all();
}

}  // namespace claimcheck::advise
