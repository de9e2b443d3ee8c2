// Statements that arithmetic decides.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>

#include "harness/advise/need.h"
#include "harness/cost/price.h"
#include "harness/guides/statements.h"
#include "harness/judge/machine.h"
#include "harness/report/quantity.h"

namespace claimcheck::guides {
namespace {

using nlohmann::json;

// Two figures of one statement: "1.25 vs 1.5", "28; 12", "40 -> 90"; unset unless there are two.
std::optional<std::pair<double, double>> two_numbers(const json& statement) {
  const std::string text = text_at(statement, "value");
  std::vector<double> numbers;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end == at) {
      ++at;
    } else {
      numbers.push_back(number);
      at = end;
    }
  }
  return numbers.size() == 2 ? std::optional(std::pair(numbers[0], numbers[1])) : std::nullopt;
}

class Formulas {
 public:
  explicit Formulas(const json& statements) : statements_(statements) {}

  std::optional<Computed> of(const json& statement) const {
    struct Formula {
      const char* id;
      std::optional<Computed> (Formulas::*compute)(const json&) const;
    };
    static constexpr std::array formulas = {
        Formula{"G0-02", &Formulas::states_of_100}, Formula{"G0-13", &Formulas::same_as_one_year},
        Formula{"G0-35", &Formulas::states_of_1},   Formula{"G0-37", &Formulas::states_of_10},
        Formula{"G1-33", &Formulas::states_of_10},  Formula{"G1-14", &Formulas::half_of_g1_11},
        Formula{"G1-15", &Formulas::half_of_g1_12}, Formula{"G1-16", &Formulas::half_of_g1_13},
        Formula{"G1-21", &Formulas::energy},        Formula{"G1-29", &Formulas::hardware},
        Formula{"G2-34", &Formulas::on_demand},     Formula{"G2-35", &Formulas::reserved},
        Formula{"G2-36", &Formulas::break_even},    Formula{"G2-37", &Formulas::three_years}};
    for (const Formula& formula : formulas) {
      if (statement.at("id") == formula.id) return (this->*formula.compute)(statement);
    }
    return std::nullopt;
  }

 private:
  const json* statement(const char* id) const {
    for (const json& one : statements_) {
      if (one.at("id") == id) return &one;
    }
    return nullptr;
  }

  double value(const char* id) const {
    const json* one = statement(id);
    return one != nullptr && one->at("value").is_number() ? one->at("value").get<double>() : std::nan("");
  }

  static Computed states(double parameters, std::optional<bool> agrees) {
    const double bytes = advise::state_bytes * parameters;
    const auto cards = [&](double gigabytes) { return static_cast<int>(std::ceil(bytes / (gigabytes * 1e9))); };
    return {fmt::format("{} G parameters x 16 bytes = {} GB of training states: {} x 80 GB, {} x 40 GB or {} x 16 GB "
                        "at least, before activations",
                        number_text(parameters / 1e9), number_text(bytes / 1e9), cards(80), cards(40), cards(16)),
            agrees};
  }

  std::optional<Computed> states_of_100(const json& one) const {
    return states(100e9, one.at("value").get<double>() * 1e9 >= 1.6e12);
  }
  // The size of a card decides where one of half the size cannot take part at all.
  std::optional<Computed> states_of_10(const json& /*one*/) const {
    advise::Workload workload;
    workload.model = advise::with_shape({"10B", 10e9, 0, 0});
    const advise::Need need = advise::training_need(workload);
    return states(10e9, !advise::gpus_for(need.states, need.gathered + need.computed, 40e9));
  }
  std::optional<Computed> states_of_1(const json& /*one*/) const { return states(1e9, std::nullopt); }

  std::optional<Computed> same_as_one_year(const json& one) const {
    const double three = 1 - one.at("value").get<double>() / value("G0-12");
    const double year = value("G0-05") / 100;
    return Computed{fmt::format("1 - {} / {} = {}, and one year is said to save {}: three years save no more",
                                number_text(one.at("value").get<double>()), number_text(value("G0-12")),
                                percent_text(three), percent_text(year)),
                    three > year + 0.02};
  }

  Computed half(const json& one, const char* of) const {
    const double share = one.at("value").get<double>() / value(of);
    return {
        fmt::format("{} / {} = {}: {}", number_text(one.at("value").get<double>()), number_text(value(of)),
                    percent_text(share),
                    std::abs(share - 0.5) < 1e-9 ? "exactly half, as no provider's list is" : "of the hourly price"),
        std::abs(share - 0.5) > 1e-9};
  }
  std::optional<Computed> half_of_g1_11(const json& one) const { return half(one, "G1-11"); }
  std::optional<Computed> half_of_g1_12(const json& one) const { return half(one, "G1-12"); }
  std::optional<Computed> half_of_g1_13(const json& one) const { return half(one, "G1-13"); }

  // Of two statements' figures: 1 - first / second.
  std::optional<Computed> saved(const json& one, const char* of) const {
    const json* other = statement(of);
    const auto pair = other == nullptr ? std::nullopt : two_numbers(*other);
    if (!pair) return std::nullopt;
    const double share = 1 - pair->first / pair->second;
    return Computed{fmt::format("1 - {} / {} = {}, not {} %", number_text(pair->first), number_text(pair->second),
                                percent_text(share), number_text(one.at("value").get<double>())),
                    std::abs(share - one.at("value").get<double>() / 100) < 0.01};
  }
  std::optional<Computed> energy(const json& one) const { return saved(one, "G1-20"); }
  std::optional<Computed> hardware(const json& one) const { return saved(one, "G1-28"); }

  static constexpr double years = 3;
  std::optional<std::pair<double, double>> rates() const {
    const json* found = statement("G2-36");
    return found == nullptr ? std::nullopt : two_numbers(*found);
  }
  std::optional<TermComparison> terms() const {
    const auto pair = rates();
    return pair ? std::optional(compare_terms(pair->first, pair->second, years)) : std::nullopt;
  }
  // The guide's two formulas beside the total that is paid.
  std::optional<Computed> on_demand(const json& /*one*/) const {
    const auto pair = rates();
    if (!pair) return std::nullopt;
    const double guide = pair->first * 24 * 365 * years;
    return Computed{fmt::format("{:g} x 24 x 365 x {:g} = {:.0f}", pair->first, years, guide),
                    guide == terms()->on_demand_total};
  }
  std::optional<Computed> reserved(const json& /*one*/) const {
    const auto pair = rates();
    if (!pair) return std::nullopt;
    const double guide = pair->second * years;
    return Computed{fmt::format("{:g} x 24 x 365 x {:g} = {:.0f}; the formula gives {:g} x {:g} = {:g}", pair->second,
                                years, terms()->reserved_total, pair->second, years, guide),
                    guide == terms()->reserved_total};
  }
  std::optional<Computed> break_even(const json& /*one*/) const {
    const auto found = terms();
    if (!found) return std::nullopt;
    return Computed{fmt::format("reserved pays from {} of the hours on", percent_text(found->break_even_utilisation)),
                    {}};
  }
  std::optional<Computed> three_years(const json& one) const {
    const auto found = terms();
    if (!found) return std::nullopt;
    return Computed{fmt::format("1 - {:.0f} / {:.0f} = {}", found->reserved_total, found->on_demand_total,
                                percent_text(found->saving)),
                    std::abs(found->saving - one.at("value").get<double>() / 100) < 0.01};
  }

  const json& statements_;
};

}  // namespace

std::optional<Computed> from_formula(const json& statement, const json& statements) {
  return Formulas(statements).of(statement);
}

}  // namespace claimcheck::guides
