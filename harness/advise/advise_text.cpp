// Advice for people, at most 100 columns.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/advise/advise.h"
#include "harness/cost/list_price.h"
#include "harness/cost/money.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/layout.h"
#include "harness/report/quantity.h"

namespace claimcheck::advise {
namespace {

using nlohmann::json;

constexpr std::size_t width = 100;
constexpr std::size_t indent = 10;

// "70 G", "1.3 T".
std::string count_text(double count) {
  for (const auto& [unit, name] : {std::pair(1e12, " T"), std::pair(1e9, " G"), std::pair(1e6, " M")}) {
    if (count >= unit) return number_text(count / unit) + name;
  }
  return number_text(count);
}

std::string bytes_text(double bytes) {
  return bytes >= 1e12 ? number_text(bytes / 1e12) + " TB" : number_text(bytes / 1e9) + " GB";
}

std::string time_text(double seconds) {
  if (seconds >= 2 * 365.25 * 86400) return number_text(seconds / (365.25 * 86400)) + " y";
  if (seconds >= 2 * 86400) return number_text(seconds / 86400) + " d";
  if (seconds >= 2 * 3600) return number_text(seconds / 3600) + " h";
  return seconds >= 120 ? number_text(seconds / 60) + " min" : number_text(seconds) + " s";
}

std::string workload_text(const json& work) {
  std::string text = labelled(
      "MODEL",
      fmt::format("{} parameters ({} layers of {}), {} tokens in sequences of {}, {} tokens an update: {} FLOPs",
                  count_text(work.at("parameters")), work.at("layers").get<int>(), work.at("width").get<int>(),
                  count_text(work.at("tokens")), exact_text(work.at("sequence")), count_text(work.at("batch_tokens")),
                  fmt::format("{:.3g}", work.at("flops").get<double>())),
      indent, width);
  const json& activations = work.at("activation_bytes");
  const json& inference = work.at("inference_bytes");
  text +=
      labelled("MEMORY",
               fmt::format("training: {} of states (16 bytes a parameter) and {} of activations a sequence ({} when "
                           "computed again); a checkpoint {}. Inference in 16 bit: {} and {} a sequence",
                           bytes_text(work.at("state_bytes")), bytes_text(activations.at("kept")),
                           bytes_text(activations.at("computed_again")), bytes_text(work.at("checkpoint_bytes")),
                           bytes_text(inference.at("weights")), bytes_text(inference.at("keys_and_values"))),
               indent, width);
  std::string fits;
  for (const json& card : work.at("cards")) {
    const auto gpus = [&](const char* key) {
      return card.at(key).is_null() ? std::string("none") : std::to_string(card.at(key).get<int>());
    };
    fits += fmt::format("{}{} GB: {} and {}", fits.empty() ? "" : ";  ", exact_text(card.at("memory_gb")),
                        gpus("training_gpus"), gpus("inference_gpus"));
  }
  return text + labelled("", "GPUs at least, for training and for inference, of " + fits, indent, width);
}

std::string how_cell(const json& row) {
  const json& update = row.at("update");
  std::string how = update.at("sharded").get<bool>() ? "S" : "";
  if (update.at("computed_again").get<bool>()) how += how.empty() ? "R" : " R";
  return how;
}

// What is not measured says so in the first column, which is never cut.
std::string rank_cell(const json& row, std::size_t rank) {
  const std::string kind = row.at("kind");
  const std::string mark = kind == "estimate" ? "*" : kind == "partly_measured" ? "~" : " ";
  return (row.at("converted").get<bool>() ? std::to_string(rank) : "-") + mark;
}

// As table headings are: short.
std::string term_cell(const std::string& term) {
  if (term == "reserved_1y") return "1 year";
  if (term == "reserved_3y") return "3 years";
  return term == "monthly_prepaid" ? "monthly" : term_text(term);
}

std::string mfu_cell(const json& row) {
  return row.at("mfu").is_null() ? "-" : percent_text(row.at("mfu").get<double>());
}

// The cheapest row of each machine, unless a term was asked for: then there is one anyway.
std::vector<const json*> shown(const json& answer) {
  std::vector<const json*> rows;
  for (const json& row : answer.at("rows")) {
    const auto same = [&](const json* other) { return other->at("label") == row.at("label"); };
    if (std::none_of(rows.begin(), rows.end(), same)) rows.push_back(&row);
  }
  return rows;
}

std::string rows_text(const json& answer) {
  const std::vector<const json*> rows = shown(answer);
  if (rows.empty()) return "\nNo machine looked at can do this.\n";
  Table table({{"rank", true, 5},
               {"machine", false, 29},
               {"term", false, 9},
               {"nodes", true, 10},
               {"time", true, 9},
               {answer.at("currency").get<std::string>(), true, 13},
               {"MFU", true, 6},
               {"save", true, 8},
               {"how", false, 3}});
  const auto top = answer.at("top").get<std::size_t>();
  std::size_t rank = 0;
  for (const json* row : rows) {
    if (top > 0 && rank == top) break;
    const bool over = row->at("within_budget") == json(false);
    const bool ranked = row->at("converted").get<bool>();
    if (ranked) ++rank;
    table.add({{rank_cell(*row, rank)},
               {row->at("label").get<std::string>()},
               {term_cell(row->at("term").get<std::string>())},
               {fmt::format("{} x {}", row->at("nodes").get<int>(),
                            row->at("gpus").get<int>() / row->at("nodes").get<int>())},
               {time_text(row->at("seconds"))},
               {ranked ? amount_text(row->at("money")) + (over ? "!" : "")
                       : amount_text(row->at("money")) + " " + row->at("currency").get<std::string>()},
               {mfu_cell(*row)},
               {time_text(row->at("goodput").at("save_every_seconds"))},
               {how_cell(*row)}});
    if (!ranked && ++rank > top) break;
  }
  std::string text = "\n" + table.render(width, false);
  if (rows.size() > rank && top > 0)
    text += fmt::format("          {} more machines: --top 0 shows all.\n", rows.size() - rank);
  text +=
      labelled("",
               "* estimate from the catalog, nothing was measured; ~ matrix products were, the share a step keeps is "
               "assumed; ! above the budget; nodes x GPUs; save: every so often; S: "
               "states sharded over all GPUs, R: activations computed again",
               indent, width);
  return text;
}

// Reasons differ in their numbers; alike ones are told once, with how many machines they stop.
std::string left_out_text(const json& left_out) {
  std::map<std::string, std::pair<int, std::string>> kinds;  // first words: count, an example
  for (const json& one : left_out) {
    const std::string reason = one.at("reason");
    std::string kind;
    std::copy_if(reason.begin(), reason.end(), std::back_inserter(kind),
                 [](unsigned char c) { return std::isdigit(c) == 0 && c != '.'; });
    auto& [count, example] = kinds[kind];
    if (count++ == 0) example = one.at("label").get<std::string>() + ": " + reason;
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (auto& [kind, told] : kinds) sorted.push_back(told);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [count, example] : sorted)
    text += labelled(text.empty() ? " cannot" : "",
                     example + (count > 1 ? fmt::format("; {} more for such a reason", count - 1) : ""), indent, width);
  return text;
}

std::string rules_text(const json& rules) {
  std::string text;
  for (const json& rule : rules) {
    std::string claims;
    for (const json& claim : rule.at("claims")) claims += (claims.empty() ? "" : ", ") + claim.get<std::string>();
    text += labelled(text.empty() ? " rules" : "",
                     fmt::format("{} [{}]: {}; {}", rule.at("rule").get<std::string>(), claims,
                                 rule.at("verdict").get<std::string>(), rule.at("why").get<std::string>()),
                     indent, width);
  }
  return text;
}

std::string notes_text(const json& notes) {
  std::string text;
  for (const json& note : notes) text += labelled(text.empty() ? " notes" : "", note.get<std::string>(), indent, width);
  return text;
}

std::string asked_text(const json& answer) {
  std::string asked;
  if (!answer.at("deadline_seconds").is_null()) asked += "done in " + time_text(answer.at("deadline_seconds"));
  if (!answer.at("budget").is_null())
    asked += (asked.empty() ? "" : ", ") + std::string("for at most ") +
             total_text(answer.at("budget"), answer.at("currency").get<std::string>());
  if (asked.empty()) return {};
  const ExitCode can = outcome(answer);
  asked += can == ExitCode::not_met      ? ": no machine looked at can do it"
           : can == ExitCode::incomplete ? ": not known, a currency's rate is missing (--fx)"
                                         : "";
  return labelled("ASKED", asked, indent, width);
}

}  // namespace

std::string advise_text(const json& answer) {
  const std::string virtual_text =
      answer.at("virtual").get<bool>()
          ? labelled("VIRTUAL", "a result of a virtual machine is among these: its figures are of no real one", indent,
                     width)
          : "";
  return virtual_text + workload_text(answer.at("workload")) + asked_text(answer) + rows_text(answer) +
         left_out_text(answer.at("left_out")) + rules_text(answer.at("rules")) + notes_text(answer.at("notes"));
}

}  // namespace claimcheck::advise
