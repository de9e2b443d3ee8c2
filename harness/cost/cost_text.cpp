// The cost table for people, at most 100 columns.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "harness/cost/cost.h"
#include "harness/cost/list_price.h"
#include "harness/cost/money.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/layout.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr std::size_t width = 100;
constexpr std::size_t indent = 10;

std::string age_text(const json& price) {
  if (text_at(price, "source") == "--price") return "your price";
  std::string text = price.at("as_of").is_null() ? "undated" : price.at("as_of").get<std::string>();
  if (price.at("age_days").is_number()) text += fmt::format(", {} days old", price.at("age_days").get<int>());
  if (price.at("stale").get<bool>()) text += ", stale";
  return text;
}

// Sources that rows refer to by number: many rows share one.
class Footnotes {
 public:
  std::string mark(const json& price) {
    if (text_at(price, "source") == "--price") return "yours";
    const std::string text = fmt::format("{}: {}", age_text(price), text_at(price, "source"));
    const auto found = std::find(texts_.begin(), texts_.end(), text);
    const auto number = found - texts_.begin() + 1;
    if (found == texts_.end()) texts_.push_back(text);
    return fmt::format("[{}]", number);
  }

  std::string text() const {
    std::string lines;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      lines += labelled(i == 0 ? " prices" : "", fmt::format("[{}] {}", i + 1, texts_[i]), indent, width);
    }
    return lines;
  }

 private:
  std::vector<std::string> texts_;
};

std::string money_or_dash(const json& value, const std::string& currency) {
  return value.is_number() ? money_text(value.get<double>(), currency) : "-";
}

std::string tflops_text(double tflops) {
  return tflops >= 1000 ? number_text(tflops / 1000) + " PFLOPS" : number_text(tflops) + " TFLOPS";
}

std::string sensitivity_text(const json& what, const std::string& currency) {
  const auto money = [&](const json& value) { return money_text(value.get<double>(), currency); };
  std::string text = fmt::format("per EFLOP at price -10 % {}, +10 % {}", money(what.at("price_minus_10")),
                                 money(what.at("price_plus_10")));
  for (const char* key : {"scaling_low", "scaling_high"}) {
    const auto found = what.find(key);
    if (found == what.end()) continue;
    text += fmt::format("{} {} {}", key == std::string("scaling_low") ? "; at scaling" : ",",
                        number_text((*found).at("scaling")), money((*found).at("per_eflop")));
  }
  return text;
}

// "training: 413 TFLOPS x 8 (MFU 41.8 %) -> $6.61 per EFLOP of the model; ..."
std::string training_text(const json& result) {
  const json& training = result.at("training");
  std::string text = fmt::format("training: {} TFLOPS x {}", number_text(training.at("per_device")),
                                 training.at("devices").get<int>());
  if (training.at("mfu").is_number()) text += fmt::format(" (MFU {})", share_text(training.at("mfu")));
  if (!training.at("per_eflop").is_number()) return text;
  const std::string currency = result.at("currency");
  text += fmt::format(" -> {} per EFLOP of the model", money_text(training.at("per_eflop"), currency));
  const json& sensitivity = result.at("sensitivity");
  if (sensitivity.contains("mfu_low"))
    text += fmt::format("; at MFU {} {}, {} {}", share_text(sensitivity.at("mfu_low").at("mfu")),
                        money_text(sensitivity.at("mfu_low").at("per_eflop"), currency),
                        share_text(sensitivity.at("mfu_high").at("mfu")),
                        money_text(sensitivity.at("mfu_high").at("per_eflop"), currency));
  return text;
}

// "energy    5520 W of 8 devices -> 1.20 MJ = 0.333 kWh per EFLOP ..."
std::string energy_text(const json& energy, const std::string& currency) {
  std::string text = fmt::format(
      "energy: {} W of {} device{} -> {} MJ = {} kWh per EFLOP", number_text(energy.at("watts")),
      energy.at("devices").get<int>(), energy.at("devices") == 1 ? "" : "s",
      number_text(energy.at("joules_per_eflop").get<double>() / 1e6), number_text(energy.at("kwh_per_eflop")));
  if (energy.at("money_per_eflop").is_number())
    text += fmt::format(", {} of electricity at PUE {}", money_text(energy.at("money_per_eflop"), currency),
                        number_text(energy.at("pue")));
  return text;
}

// "useful bf16: 612 x 8 x 0.94 = 4.60 PFLOPS -> $3.32 per EFLOP (claimed: $1.93)"
std::string headline_text(const json& result, bool several) {
  const std::string label = several ? text_at(result, "label") + ": " : "";
  const json& useful = result.at("useful");
  if (useful.is_null()) return label + "not priced: " + text_at(result, "note");
  std::string text = fmt::format("{}useful {}: {} = {}", label, text_at(useful, "data_type"), text_at(useful, "basis"),
                                 tflops_text(useful.at("tflops")));
  if (result.contains("per_eflop")) {
    const std::string currency = result.at("currency");
    text += fmt::format(" -> {} per EFLOP", money_text(result.at("per_eflop"), currency));
    if (result.contains("claimed_per_eflop")) {
      text += fmt::format(" (claimed: {})", money_text(result.at("claimed_per_eflop"), currency));
    }
  }
  if (result.contains("useful_share"))
    text += fmt::format("; {} of the FLOPs paid for are useful", share_text(result.at("useful_share")));
  const std::string note = text_at(result, "note");
  return note.empty() ? text : text + "; " + note;
}

std::string results_text(const json& cost) {
  std::string text;
  const json& results = cost.at("results");
  const auto is_virtual = [](const json& result) { return result.value("virtual", false); };
  if (std::any_of(results.begin(), results.end(), is_virtual))
    text +=
        labelled("VIRTUAL", "measured on a simulated machine: these figures are no price of anything", indent, width);
  for (const json& result : results) {
    text +=
        labelled(&result == &results.front() ? "COST" : "", headline_text(result, results.size() > 1), indent, width);
    if (result.contains("sensitivity")) {
      text += labelled("", sensitivity_text(result.at("sensitivity"), result.at("currency")), indent, width);
    }
    if (result.contains("training") && result.at("training").is_object())
      text += labelled("", training_text(result), indent, width);
    if (result.contains("energy") && result.at("energy").is_object()) {
      text += labelled("", energy_text(result.at("energy"), cost.at("currency")), indent, width);
    }
  }
  return text;
}

std::string instance_text(const json& instance, const std::string& currency) {
  std::string what = text_at(instance, "id");
  if (instance.at("accelerator").is_string() && instance.at("accelerator_count").is_number()) {
    what += fmt::format(", {} x {}", instance.at("accelerator_count").get<int>(), text_at(instance, "accelerator"));
  }
  std::string text = labelled("INSTANCE", what, indent, width);
  if (instance.at("useful_tflops").is_number()) {
    text += labelled("",
                     fmt::format("estimate of useful {}: {} = {}", text_at(instance, "data_type"),
                                 text_at(instance, "basis"), tflops_text(instance.at("useful_tflops"))),
                     indent, width);
  }
  if (instance.contains("sensitivity")) {
    text += labelled("", sensitivity_text(instance.at("sensitivity"), currency), indent, width);
  }
  Table table({{"term", false, 16},
               {"region", false, 16},
               {"node-hour", true, 18},
               {"GPU-hour", true, 16},
               {"/EFLOP", true, 12},
               {"price", false, 40}});
  Footnotes notes;
  for (const json& row : instance.at("prices")) {
    const std::string shown = row.at("currency");
    table.add({{term_text(row.at("term"), text_at(row, "payment"))},
               {text_at(row, "region")},
               {price_text(row.at("per_hour"), shown)},
               {row.at("per_gpu_hour").is_number() ? price_text(row.at("per_gpu_hour"), shown) : "-"},
               {money_or_dash(row.at("per_eflop"), shown)},
               {age_text(row.at("price")) + " " + notes.mark(row.at("price"))}});
  }
  if (!table.empty()) text += table.render(width, false) + notes.text();
  for (const json& term : instance.at("unknown_terms")) {
    text += labelled("", fmt::format("{}: no price is known", term_text(term)), indent, width);
  }
  const std::string note = text_at(instance, "note");
  return note.empty() ? text : text + labelled("", note, indent, width);
}

std::string basis_cell(const json& row) {
  if (row.at("kind") == "measured") return "measured";
  return row.value("stand_in", false) ? "estimate*" : "estimate";
}

// Short enough for a column: "3 years" is reserved for them.
std::string term_cell(const std::string& term) {
  if (term == "reserved_1y") return "1 year";
  if (term == "reserved_3y") return "3 years";
  if (term == "monthly_prepaid") return "monthly";
  return term_text(term);
}

// Rows in one currency, under a heading that names it.
std::string table_text(const json& rows, const std::string& currency, Footnotes& notes) {
  Table table({{"rank", true, 4},
               {"platform", false, 31},
               {"term", false, 9},
               {currency + "/h", true, 9},
               {"useful", true, 6},
               {"/EFLOP", true, 9},
               {"basis", false, 9},
               {"price", false, 20}});
  for (const json& row : rows) {
    if (row.at("currency") != currency) continue;
    const std::string region = text_at(row, "region");
    table.add({{row.at("rank").is_number() ? std::to_string(row.at("rank").get<int>()) : "-"},
               {text_at(row, "label")},
               {term_cell(row.at("term"))},
               {amount_text(row.at("per_hour"))},
               {row.at("useful_tflops").is_number() ? number_text(row.at("useful_tflops")) : "-"},
               {row.at("per_eflop").is_number() ? amount_text(row.at("per_eflop")) : "-"},
               {basis_cell(row)},
               {notes.mark(row.at("price")) + (region.empty() ? "" : " " + region)}});
  }
  return table.empty() ? std::string() : table.render(width, false);
}

std::string ranking_text(const json& cost) {
  const std::string own = cost.at("currency");
  Footnotes notes;
  std::string text = table_text(cost.at("rows"), own, notes);
  std::set<std::string> others;
  for (const json& row : cost.at("rows")) others.insert(row.at("currency").get<std::string>());
  for (const std::string& currency : others) {
    if (currency == own) continue;
    text += (text.empty() ? "" : "\n") + table_text(cost.at("rows"), currency, notes);
  }
  return text.empty() ? text : text + notes.text();
}

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

std::string rows_count(std::size_t count) { return fmt::format("{} row{}", count, count == 1 ? "" : "s"); }

// "fees: 20,000 GB kept and 5,000 GB sent out a month, over 730 hours of use, are in /EFLOP ..."
std::string fees_remark(const json& cost) {
  const json& usage = cost.at("usage");
  std::string text =
      fmt::format("fees: {} GB kept and {} GB sent out a month, over {} hours of use, are in /EFLOP, not in {}/h",
                  exact_text(usage.at("storage_gb")), exact_text(usage.at("egress_gb")), exact_text(usage.at("hours")),
                  text_at(cost, "currency"));
  std::set<std::string> sources;
  for (const json& row : cost.at("rows"))
    for (const json& source : row.at("fees").at("sources")) sources.insert(source.get<std::string>());
  if (!sources.empty()) text += fmt::format(" ({})", fmt::join(sources, "; "));
  const std::size_t unknown = cost.at("without_fees");
  if (unknown > 0)
    text += fmt::format(
        ". Not ranked, because the catalog has no fee of the provider: {}; --storage-price and --egress-price give one",
        rows_count(unknown));
  return text + ".";
}

// What the reader has to know to trust or doubt the table.
std::string remarks(const json& cost) {
  std::vector<std::string> lines;
  const json& rows = cost.at("rows");
  const auto any = [&](auto holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  if (any([](const json& row) { return row.at("kind") == "estimate"; })) {
    lines.push_back(
        fmt::format("useful: TFLOPS in {}; /EFLOP: per 1e18 useful operations. *estimate*: dense claim x typical ratio "
                    "x devices x {} scaling assumed for "
                    "more than one "
                    "(--scaling); the cheapest region of each platform and term.",
                    text_at(cost, "data_type"), number_text(cost.at("assumed_scaling"))));
  }
  if (cost.contains("usage")) lines.push_back(fees_remark(cost));
  if (any([](const json& row) { return row.value("stand_in", false); })) {
    lines.emplace_back(
        "estimate*: nothing measured is known of this accelerator, so the median ratio of others stands in.");
  }
  for (const json& row : rows) {
    const std::string note = text_at(row, "note");
    if (row.at("kind") == "measured" && !note.empty()) lines.push_back(text_at(row, "label") + ": " + sentence(note));
  }
  for (const auto& [currency, count] : cost.at("unconverted").items()) {
    lines.push_back(
        fmt::format("{} in {} without a rank: no dated rate is known; pass --fx {}=RATE (units per US dollar).",
                    rows_count(count.get<std::size_t>()), currency, currency));
  }
  const std::size_t hidden = cost.at("hidden_rows");
  if (hidden > 0) lines.push_back(fmt::format("{} more ranked rows: --top 0 shows all.", hidden));
  std::string text;
  for (const std::string& line : lines) text += labelled(text.empty() ? " notes" : "", line, indent, width);
  return text;
}

}  // namespace

std::string cost_text(const json& cost) {
  if (!cost.is_object()) return {};
  std::string text = results_text(cost);
  if (cost.contains("instance")) text += instance_text(cost.at("instance"), cost.at("currency"));
  const std::string ranking = ranking_text(cost);
  if (!ranking.empty()) {
    if (!text.empty()) text += '\n';
    text += ranking;
  }
  return text + remarks(cost);
}

}  // namespace claimcheck
