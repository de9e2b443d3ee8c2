// What `claimcheck catalog list` and `show` answer, as tables of at most 100 columns.
#include <fmt/format.h>

#include <algorithm>

#include "harness/catalog/view.h"
#include "harness/report/layout.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// A value as people read it: nothing for unknown, all digits of a number.
std::string shown(const json& row, const char* field, const std::string& unit = "") {
  const auto found = row.find(field);
  if (found == row.end() || found->is_null()) return "";
  const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
  return unit.empty() || text.empty() ? text : text + " " + unit;
}

std::string number(const json& row, const char* field) {
  const auto found = row.find(field);
  if (found == row.end() || !found->is_number()) return "";
  return fmt::format("{}", found->get<double>());
}

std::string list(const json& row, const char* field) {
  std::string text;
  if (!row.contains(field)) return text;
  for (const json& item : row.at(field)) {
    text += (text.empty() ? "" : ", ") + (item.is_string() ? item.get<std::string>() : item.dump());
  }
  return text;
}

// With a payment option short enough for its column: "1 y part upfr".
std::string term_text(const std::string& term, const std::string& payment) {
  if (!payment.empty()) {
    const std::string years = term == "reserved_3y" ? "3 y " : "1 y ";
    return years + payment.substr(0, payment == "partial_upfront" ? 4 : payment.find('_')) + " upfr";
  }
  if (term == "on_demand") return "on demand";
  if (term == "reserved_1y") return "reserved 1 y";
  if (term == "reserved_3y") return "reserved 3 y";
  return term == "monthly_prepaid" ? "month" : term;
}

std::string age_text(const json& row) {
  if (row.at("as_of").is_null()) return "undated";
  if (row.at("age_days").is_null()) return "";
  return fmt::format("{} d{}", row.at("age_days").get<int>(), row.at("stale") == true ? ", stale" : "");
}

Colour age_colour(const json& row) { return row.at("stale") == false ? Colour::none : Colour::open; }

// What a mark or a note has to say of a row.
std::string remark(const json& row) {
  std::string text;
  for (const auto& [field, lead] : {std::pair{"unusable", "not counted with: "}, std::pair{"disputed", "disputed: "},
                                    std::pair{"outlier", "stands apart: "}, std::pair{"note", ""}}) {
    const std::string value = shown(row, field);
    if (!value.empty()) text += (text.empty() ? "" : "; ") + std::string(lead) + value;
  }
  return text;
}

// "node of 8", "GPU", "chip": what one price buys.
std::string unit_text(const json& row) {
  const std::string unit = shown(row, "unit");
  if (unit == "gpu-hour") return "GPU";
  if (unit != "instance-hour") return unit.substr(0, unit.find('-'));
  const std::string count = shown(row, "accelerator_count");
  return count.empty() ? "node" : "node of " + count;
}

// With the instance over its rows where there are several.
std::string prices_text(const json& rows, bool with_instance, std::size_t width, bool colour) {
  Table table(
      {{"term"}, {"region", false, 14}, {"per hour", true}, {"of one"}, {"date"}, {"age"}, {"source", false, 16}});
  std::string last;
  for (const json& row : rows) {
    const std::string instance = shown(row, "provider") + ":" + shown(row, "instance");
    if (with_instance && instance != last) table.note(instance, 1);
    last = instance;
    const std::string price = number(row, "per_hour");
    table.add({{term_text(shown(row, "term"), shown(row, "payment"))},
               {shown(row, "region")},
               {price.empty() ? "unknown" : price + " " + shown(row, "currency")},
               {unit_text(row)},
               {shown(row, "as_of")},
               {age_text(row), age_colour(row)},
               {list(row, "source")}});
    const std::string text = remark(row);
    if (!text.empty()) table.note(text, 4);
  }
  return table.render(width, colour);
}

std::string conditions_text(const json& conditions) {
  std::string text;
  for (const auto& item : conditions.items()) {
    if (item.key() == "data_type") continue;  // in the metric
    const std::string value = item.value().is_string() ? item.value().get<std::string>() : item.value().dump();
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", item.key(), value);
  }
  return text;
}

std::string expected_text(const json& rows, bool with_machine, std::size_t width, bool colour) {
  Table table({{"metric", false, 28},
               {"floor", true},
               {"typical", true},
               {"ceiling", true},
               {"unit"},
               {"date"},
               {"source", false, 16}});
  for (const json& row : rows) {
    const std::string machine = shown(row, row.at("platform").is_null() ? "accelerator" : "platform");
    table.add({{shown(row, "metric")},
               {number(row, "floor")},
               {number(row, "typical")},
               {number(row, "ceiling")},
               {shown(row, "unit")},
               {row.at("date").is_null() ? "undated" : shown(row, "date")},
               {list(row, "source")}});
    std::string text = with_machine ? machine + "; " : "";
    text += shown(row, "method");
    for (const std::string& more : {conditions_text(row.at("conditions")), remark(row)}) {
      if (!more.empty()) text += "; " + more;
    }
    table.note(text, 4);
  }
  return table.render(width, colour);
}

std::string statements_text(const json& claims, std::size_t width, bool colour) {
  Table table({{"id"}, {"verdict", false, 44}, {"subject", false, 44}});
  for (const json& claim : claims) {
    std::string verdict = shown(claim, "verdict");
    std::replace(verdict.begin(), verdict.end(), '_', ' ');
    const Colour tone = verdict == "ok" ? Colour::good : Colour::none;
    const std::string remark = shown(claim, "remark");
    if (!remark.empty()) verdict += fmt::format(" ({})", remark);
    table.add({{shown(claim, "id")}, {verdict, tone}, {shown(claim, "subject")}});
    table.note(shown(claim, "claim"), 4);
    const std::string right = shown(claim, "right_value");
    if (!right.empty()) table.note("-> " + right, 4);
  }
  return table.render(width, colour);
}

// Wrapped, later lines indented by `indent`.
std::string hanging(const std::string& text, std::size_t indent, std::size_t width) {
  std::string lines;
  for (const std::string& line : wrapped(text, width - indent)) {
    lines += (lines.empty() ? "" : std::string(indent, ' ')) + line + "\n";
  }
  return lines;
}

std::string sources_text(const json& sources, std::size_t width) {
  std::string text;
  for (const auto& item : sources.items()) {
    const std::string date = shown(item.value(), "date");
    const std::string licence = shown(item.value(), "licence");
    text += "  " + hanging(fmt::format("{}: {} ({}{})", item.key(), shown(item.value(), "title"),
                                       date.empty() ? "undated" : date, licence.empty() ? "" : ", " + licence),
                           4, width);
  }
  return text;
}

// A line of facts, left out when there are none.
void line(std::string& text, const std::string& heading, const std::string& value, std::size_t width) {
  constexpr std::size_t indent = 14;
  if (!value.empty()) text += labelled(padded(heading, indent), value, indent, width);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

std::string dense_text(const json& card) {
  std::string text;
  const json peaks = card.value("dense_tflops", json::object());
  for (const auto& item : peaks.items()) {
    if (item.value().is_null()) continue;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", item.key(), item.value().get<double>(),
                        item.key() == "int8" ? " TOPS" : "");
  }
  return text;
}

std::string ratios_text(const json& document, std::size_t width) {
  std::string text;
  for (const json& ratio : document.at("typical_ratios")) {
    line(text, "typical",
         fmt::format("{:.1f} % of the claim, {}", 100 * ratio.at("ratio").get<double>(), shown(ratio, "basis")), width);
  }
  return text;
}

std::string platform_head(const json& document, std::size_t width) {
  const json& platform = document.at("platform");
  const json& card = document.at("accelerator");
  const std::string count = shown(platform, "accelerator_count");
  std::string text;
  line(text, "platform", shown(platform, "id"), width);
  line(text, "aliases", list(platform, "aliases"), width);
  line(text, "accelerator",
       (count.empty() ? "" : count + " x ") +
           (card.is_null() ? "unknown" : shown(card, "name") + " (" + shown(card, "id") + ")"),
       width);
  line(text, "memory", shown(platform, "accelerator_memory_gb", "GB per accelerator"), width);
  line(text, "host",
       joined({shown(platform, "vcpus", "vCPUs"), shown(platform, "ram_gib", "GiB RAM"),
               shown(platform, "local_nvme_gb", "GB local NVMe")}),
       width);
  line(text, "in the node",
       joined({shown(platform, "intra_node"),
               shown(platform, "intra_node_gbps", "GB/s per accelerator, both directions")}),
       width);
  line(text, "network",
       joined({shown(platform, "network_gbit_s", "Gb/s one way"), shown(platform, "network_kind"),
               shown(platform, "network_nics", "interfaces")}),
       width);
  line(text, "notes", shown(platform, "notes"), width);
  return text + ratios_text(document, width);
}

std::string accelerator_head(const json& document, std::size_t width) {
  const json& card = document.at("accelerator");
  std::string text;
  line(text, "accelerator", shown(card, "name") + " (" + shown(card, "id") + ")", width);
  line(text, "aliases", list(card, "aliases"), width);
  line(text, "kind", joined({shown(card, "vendor"), shown(card, "architecture"), shown(card, "form_factor")}), width);
  line(text, "memory",
       joined(
           {shown(card, "memory_gb", "GB"), shown(card, "memory_type"), shown(card, "memory_bandwidth_gbps", "GB/s")}),
       width);
  line(text, "dense TFLOPS", dense_text(card), width);
  line(text, "links",
       joined({shown(card, "interconnect"), shown(card, "interconnect_gbps", "GB/s both directions"),
               shown(card, "pcie_gen").empty() ? "" : "PCIe Gen" + shown(card, "pcie_gen")}),
       width);
  line(text, "power", shown(card, "tdp_w", "W"), width);
  line(text, "notes", shown(card, "notes"), width);
  for (const json& conflict : card.value("conflicts", json::array())) {
    const std::string why = shown(conflict, "why");
    line(text, "disputed",
         fmt::format("{}: {} by {}{}", shown(conflict, "field"), shown(conflict, "value"), shown(conflict, "stated_by"),
                     why.empty() ? "" : " (" + why + ")"),
         width);
  }
  text += ratios_text(document, width);
  std::vector<std::string> platforms;
  for (const json& platform : document.at("platforms")) platforms.push_back(shown(platform, "id"));
  line(text, "platforms", joined(platforms), width);
  return text;
}

void section(std::string& text, const std::string& heading, const std::string& body) {
  if (!body.empty()) text += "\n" + heading + "\n" + body;
}

std::string overview_text(const json& document, std::size_t width, bool colour) {
  std::string text;
  for (const auto& item : document.at("counts").items()) {
    text += fmt::format("{:>6}  {}\n", item.value().get<std::size_t>(), item.key());
  }
  Table table({{"provider"}, {"platforms", true}, {"prices", true}, {"known", true}, {"newest price"}, {"age"}});
  for (const json& row : document.at("providers")) {
    const bool stale = row.at("age_days").is_number() && row.at("age_days").get<int>() > stale_after_days;
    table.add({{shown(row, "provider")},
               {shown(row, "platforms")},
               {shown(row, "prices")},
               {shown(row, "prices_known")},
               {row.at("newest_price").is_null() ? "undated" : shown(row, "newest_price")},
               {shown(row, "age_days", "d") + (stale ? ", stale" : ""), stale ? Colour::open : Colour::none}});
  }
  return text + "\n" + table.render(width, colour) +
         "\n`claimcheck catalog list KIND` lists accelerators, platforms, prices, expected or claims;\n"
         "`claimcheck catalog show NAME` shows one platform or accelerator.\n";
}

std::string accelerators_text(const json& rows, std::size_t width, bool colour) {
  Table table({{"id", false, 24}, {"name", false, 38}, {"GB", true}, {"GB/s", true}, {"bf16", true}, {"W", true}});
  for (const json& row : rows) {
    const json peaks = row.value("dense_tflops", json::object());
    table.add({{shown(row, "id")},
               {shown(row, "name")},
               {number(row, "memory_gb")},
               {number(row, "memory_bandwidth_gbps")},
               {number(peaks, "bf16")},
               {number(row, "tdp_w")}});
  }
  return table.render(width, colour);
}

std::string platforms_text(const json& rows, std::size_t width, bool colour) {
  Table table(
      {{"id", false, 42}, {"accelerator", false, 24}, {"count", true}, {"vCPU", true}, {"GiB", true}, {"Gb/s", true}});
  for (const json& row : rows) {
    table.add({{shown(row, "id")},
               {shown(row, "accelerator")},
               {number(row, "accelerator_count")},
               {number(row, "vcpus")},
               {number(row, "ram_gib")},
               {number(row, "network_gbit_s")}});
  }
  return table.render(width, colour);
}

}  // namespace

std::string catalog_list_text(const json& document, std::size_t width, bool colour) {
  const std::string kind = document.at("kind").get<std::string>();
  if (kind == "catalog.overview") return overview_text(document, width, colour);
  const json& rows = document.at("rows");
  if (rows.empty()) return "nothing of that kind\n";
  if (kind == "catalog.accelerators") return accelerators_text(rows, width, colour);
  if (kind == "catalog.platforms") return platforms_text(rows, width, colour);
  if (kind == "catalog.prices") return prices_text(rows, true, width, colour);
  if (kind == "catalog.expected") return expected_text(rows, true, width, colour);
  return statements_text(rows, width, colour);
}

std::string catalog_show_text(const json& document, std::size_t width, bool colour) {
  const bool platform = document.at("kind") == "catalog.platform";
  std::string text = platform ? platform_head(document, width) : accelerator_head(document, width);
  const auto part = [&](const char* key, const std::string& heading, const std::string& body) {
    section(text, heading, document.at(key).empty() ? "  none in the catalog\n" : body);
  };
  part("prices", "prices (today " + shown(document, "date") + ")",
       prices_text(document.at("prices"), !platform, width, colour));
  part("expected", "expected values", expected_text(document.at("expected"), !platform, width, colour));
  if (!document.at("guide_statements").empty()) {
    section(text, "what the guides say", statements_text(document.at("guide_statements"), width, colour));
  }
  section(text, "sources", sources_text(document.at("sources"), width));
  return text;
}

std::string catalog_check_text(const json& checked, std::size_t width, bool colour) {
  std::string text;
  for (const auto& [key, tone] : {std::pair{"disputed", Colour::open}, std::pair{"refused", Colour::bad}}) {
    for (const json& problem : checked.at(key)) {
      std::string lines = hanging(
          fmt::format("{} {}, {}: {}", key, shown(problem, "file"), shown(problem, "place"), shown(problem, "text")), 4,
          width);
      if (colour) lines.replace(0, std::string(key).size(), paint(key, tone, true));
      text += lines;
    }
  }
  return text + fmt::format("{} refused, {} disputed\n", checked.at("refused").size(), checked.at("disputed").size());
}

}  // namespace claimcheck
