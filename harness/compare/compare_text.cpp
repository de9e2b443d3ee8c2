// The answer for a terminal, at most 100 columns: verdict, what became worse, what better, then the rest in numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/compare/words.h"
#include "harness/report/layout.h"
#include "harness/report/quantity.h"

namespace claimcheck::compare {
namespace {

constexpr std::size_t width = 100;
constexpr std::size_t indent = 10;

Colour colour_of(const Comparison& comparison, const Options& options) {
  switch (exit_code({comparison}, options)) {
    case ExitCode::ok:
      return comparison.count(State::worse) > 0 ? Colour::open : Colour::good;
    case ExitCode::not_met:
      return Colour::bad;
    default:
      return Colour::open;
  }
}

std::string heading(const std::string& word, const std::string& text, Colour how, bool colour) {
  const std::string plain = labelled(word, text, indent, width);
  return paint(word, how, colour) + plain.substr(word.size());
}

std::string causes_sentence(const Row& row) {
  std::string text = devices_sentence(row);
  if (!row.reason.empty()) text += (text.empty() ? "" : "; ") + row.reason;
  for (const std::string& cause : row.causes) text += (text.empty() ? "" : "; ") + cause;
  return text;
}

std::string rows_table(const Comparison& comparison, State state, const Options& options, bool colour) {
  const std::string word(to_string(state));
  std::vector<Table::Column> columns = {
      {word, false, 60, true}, {"before", true}, {"now", true}, {"change", true}, {"95 % interval", true}};
  if (options.max_regression && state == State::worse) columns.push_back({"limit", false});
  Table table(columns);
  for (const Row* row : sorted_rows(comparison, state)) {
    const Colour how = state == State::worse ? Colour::bad : Colour::good;
    table.add({{row_name(*row)},
               {quantity_text(row->before->value, row->unit)},
               {quantity_text(row->after->value, row->unit)},
               {change_text(row->change.relative), how},
               {interval_text(row->change)},
               {limit_text(row->beyond), row->beyond == Beyond::yes ? Colour::bad : Colour::open}});
    if (const std::string more = causes_sentence(*row); !more.empty()) table.note(more, 4);
  }
  return table.empty() ? std::string() : "\n" + table.render(width, colour);
}

std::string listed(const Comparison& comparison, State state, const std::string& title, std::size_t most) {
  std::string text;
  for (const auto& [reason, names] : by_reason(comparison, state)) {
    const std::size_t shown = std::min(most, names.size());
    std::string line =
        fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), "; "));
    if (names.size() > shown) line += fmt::format("; and {} more", names.size() - shown);
    if (!reason.empty()) line += ": " + reason;
    text += labelled("    ", line, 6, width);
  }
  return text.empty() ? text : " " + title + "\n" + text;
}

std::string single_text(const Comparison& comparison, const Options& options, bool colour) {
  std::string text = heading("VERDICT", verdict_sentence(comparison, options), colour_of(comparison, options), colour);
  if (!comparison.surroundings.empty()) {
    text += heading("CHANGED", fmt::format("{}", fmt::join(comparison.surroundings, "; ")), Colour::strong, colour);
  }
  if (!comparison.comparable() && !comparison.refused.empty()) return text;
  text += rows_table(comparison, State::worse, options, colour);
  if (const std::string lost = listed(comparison, State::lost, "no right answer any more", 8); !lost.empty()) {
    text += "\n" + lost;
  }
  text += rows_table(comparison, State::better, options, colour);
  std::string rest = listed(comparison, State::unclear, "unclear: more than the minimum, but it may be noise", 8);
  rest += listed(comparison, State::missing, "in the baseline, not measured now", 4);
  rest += listed(comparison, State::not_compared, "measured in another way, so not compared", 4);
  rest += listed(comparison, State::regained, "a right answer again", 4);
  if (!rest.empty()) text += "\n" + rest;
  if (const std::string counts = counts_text(comparison); !counts.empty())
    text += "\n" + labelled("", counts, 1, width);
  return text;
}

// One file's cell in the table of many.
Table::Cell cell_of(const Row* row) {
  if (row == nullptr) return {""};
  switch (row->state) {
    case State::worse:
      return {change_text(-worst_loss(*row) * (row->better == Better::higher ? 1 : -1)), Colour::bad};
    case State::better:
      return {change_text(row->change.relative), Colour::good};
    case State::unclear:
      return {"unclear", Colour::open};
    case State::unchanged:
      return {"="};
    case State::not_compared:
      return {"other", Colour::open};
    case State::regained:
      return {"again", Colour::good};
    default:
      return {std::string(to_string(row->state)), row->state == State::lost ? Colour::bad : Colour::open};
  }
}

bool same(const Row& a, const Row& b) { return a.id == b.id && a.metric == b.metric; }

const Row* find(const Comparison& comparison, const Row& like) {
  const auto found =
      std::find_if(comparison.rows.begin(), comparison.rows.end(), [&](const Row& row) { return same(row, like); });
  return found == comparison.rows.end() ? nullptr : &*found;
}

bool quiet(State state) { return state == State::unchanged || state == State::added || state == State::broken; }

// Cases of the baseline that changed in any of the files [first, last).
std::string columns_table(const std::vector<Comparison>& comparisons, std::size_t first, std::size_t last,
                          bool colour) {
  std::vector<Table::Column> columns = {{"changed", false, 60, true}, {"baseline", true}};
  for (std::size_t i = first; i < last; ++i) columns.push_back({fmt::format("[{}]", i + 1), true});
  Table table(columns);
  for (const Row& row : comparisons.front().rows) {
    std::vector<Table::Cell> cells;
    bool any = false;
    const Row* measured = nullptr;
    for (std::size_t i = first; i < last; ++i) {
      const Row* one = find(comparisons[i], row);
      any = any || (one != nullptr && !quiet(one->state));
      if (one != nullptr && one->before) measured = one;
      cells.push_back(cell_of(one));
    }
    if (!any) continue;
    cells.insert(cells.begin(), {measured == nullptr ? "-" : quantity_text(measured->before->value, row.unit)});
    cells.insert(cells.begin(), {row_name(row)});
    table.add(cells);
  }
  return table.empty() ? std::string() : "\n" + table.render(width, colour);
}

std::string several_text(const Answer& answer, const Options& options, bool colour) {
  std::string text;
  for (std::size_t i = 0; i < answer.comparisons.size(); ++i) {
    const Comparison& comparison = answer.comparisons[i];
    text += labelled(fmt::format("[{}]", i + 1), comparison.name, 5, width);
    const std::string sentence = labelled("    ", verdict_sentence(comparison, options), 5, width);
    text += paint(sentence.substr(0, sentence.size() - 1), colour_of(comparison, options), colour) + "\n";
  }
  constexpr std::size_t files_a_table = 5;
  for (std::size_t first = 0; first < answer.comparisons.size(); first += files_a_table) {
    const std::size_t last = std::min(first + files_a_table, answer.comparisons.size());
    text += columns_table(answer.comparisons, first, last, colour);
  }
  return text;
}

}  // namespace

std::string answer_text(const Answer& answer, const Options& options, bool colour) {
  std::string text = labelled("baseline", answer.baseline, indent, width);
  if (answer.is_virtual)
    text += labelled("", "Virtual devices of the test suite: figures of no real machine.", 1, width);
  if (answer.comparisons.size() != 1) return text + several_text(answer, options, colour);
  text += labelled("now", answer.comparisons.front().name, indent, width);
  return text + single_text(answer.comparisons.front(), options, colour);
}

}  // namespace claimcheck::compare
