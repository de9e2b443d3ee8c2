// `claimcheck explain [METRIC]`: what a printed number means, from docs/metrics.md, or a finding, from
// docs/findings.md; without an argument, all numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/findings/kinds.h"
#include "harness/metrics_page.h"
#include "harness/nearest.h"
#include "harness/report/layout.h"
#include "harness/result/json_text.h"
#include "harness/result/metrics.h"
#include "harness/terminal_text.h"

namespace claimcheck::cli {
namespace {

using nlohmann::json;

struct Options {
  std::string word;
  bool json = false;
};

json to_json(const Metric& metric) {
  return {{"key", metric.key},
          {"name", metric.name},
          {"unit", metric.unit},
          {"better", metric.better == Better::higher ? "higher" : "lower"},
          {"select", metric.select == Select::max ? "max" : "min"},
          {"per", metric.per},
          {"tolerance", metric.tolerance},
          {"summary", metric.summary}};
}

// Words of the page that are no metric: "cv", "percent of claim".
std::vector<std::string> terms() {
  std::vector<std::string> words;
  for (const PageSection& section : metric_sections()) {
    for (const std::string& word : section.words) {
      if (find_metric(word) == nullptr) words.push_back(word);
    }
  }
  return words;
}

std::string list_text() {
  constexpr std::size_t width = 100;
  std::size_t indent = 0;
  for (const Metric& metric : metrics()) indent = std::max(indent, metric.key.size() + 2);
  std::string text;
  for (const Metric& metric : metrics()) {
    text += labelled(metric.key, fmt::format("{} [{}]", metric.summary, metric.unit), indent, width);
  }
  std::string words;
  for (const std::string& term : terms()) words += (words.empty() ? "" : ", ") + term;
  return text + '\n' + labelled("other numbers", words, indent, width);
}

// Paragraphs of the page without its marks for bold, wrapped.
std::string for_screen(std::string_view text) {
  constexpr std::size_t width = 100;
  std::string paragraph;
  std::string out;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += (out.empty() ? "" : "\n") + labelled("", paragraph, 0, width);
    paragraph.clear();
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line(text.substr(at, end - at));
    for (std::size_t mark = line.find("**"); mark != std::string::npos; mark = line.find("**")) line.erase(mark, 2);
    if (line.empty()) end_paragraph();
    paragraph += (paragraph.empty() ? "" : " ") + line;
    at = end + 1;
  }
  end_paragraph();
  return out;
}

json list_json() {
  json all = json::array();
  for (const Metric& metric : metrics()) all.push_back(to_json(metric));
  return {{"metrics", std::move(all)}, {"terms", terms()}};
}

[[noreturn]] void fail_unknown(const std::string& word) {
  std::vector<std::string> words = terms();
  for (const Metric& metric : metrics()) words.push_back(metric.key);
  for (const FindingKind& kind : finding_kinds()) words.push_back(kind.id);
  const auto near = nearest(word, words, 3);
  throw UserError(fmt::format("explain: unknown metric \"{}\"{}; `claimcheck explain` lists all",
                              shortened(sanitised_text(word), 80),
                              near.empty() ? std::string() : "; nearest: " + quoted_choice(near)));
}

void print_kind(const FindingKind& kind, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", dump_json({{"finding", kind.id},
                                  {"severity", kind.severity},
                                  {"seen_by", kind.when},
                                  {"cause", kind.cause},
                                  {"next_step", kind.next_step}}));
    return;
  }
  fmt::print("{}\n{}\n{}\n{}", labelled("", fmt::format("{} ({})", kind.id, kind.severity), 0, 100),
             labelled("seen by", kind.when, 10, 100), labelled("likely", kind.cause, 10, 100),
             labelled("next", kind.next_step, 10, 100));
}

void run_explain(const Options& options) {
  if (options.word.empty()) {
    fmt::print("{}", options.json ? dump_json(list_json()) + '\n' : list_text());
    return;
  }
  if (const FindingKind* kind = find_kind(options.word)) return print_kind(*kind, options.json);
  const PageSection* section = find_section(options.word);
  if (section == nullptr) fail_unknown(options.word);
  const Metric* metric = find_metric(options.word);
  if (options.json) {
    json answer = metric != nullptr ? to_json(*metric) : json{{"term", options.word}};
    answer["section"] = section->words;
    answer["text"] = section->text;
    fmt::print("{}\n", dump_json(answer));
    return;
  }
  std::string heading;
  for (const std::string& word : section->words) heading += (heading.empty() ? "" : ", ") + word;
  fmt::print("{}\n{}", labelled("", heading, 0, 100), for_screen(section->text));
  if (metric == nullptr) return;
  const std::string facts = fmt::format(
      "{}: in {}, {} is better, one value per {}; up to {:.0f} % on the wrong side of typical is as expected.",
      metric->key, metric->unit == "1" ? "percent" : metric->unit,
      metric->better == Better::higher ? "higher" : "lower", metric->per, metric->tolerance * 100);
  fmt::print("\n{}", labelled("", facts, 0, 100));
}

}  // namespace

void add_explain(CLI::App& app, Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("explain", "Say what a number means and how it is measured.");
  command->add_option("METRIC", options->word, "A metric key, another printed number or a finding; none: list them")
      ->type_name("METRIC");
  command->add_flag("--json", options->json, "One JSON document");
  command->footer(
      "Examples:\n"
      "  claimcheck explain memory.triad.gbps\n"
      "  claimcheck explain 'cost per useful EFLOP'");
  command->callback([options, &global] {
    run_explain(*options);
    global.exit_code = ExitCode::ok;
  });
}

}  // namespace claimcheck::cli
