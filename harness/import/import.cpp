#include "harness/import/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/error.h"
#include "harness/import/between_nodes.h"
#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/json_text.h"
#include "harness/import/line.h"
#include "harness/result/json_text.h"
#include "harness/run/output.h"
#include "harness/terminal_text.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::string_view lists_processes = "nvidia-smi";
constexpr std::size_t head_bytes = std::size_t{64} << 10;

bool marked(const Format& format, std::string_view text) {
  return std::any_of(format.marks.begin(), format.marks.end(),
                     [&](std::string_view mark) { return contains(text, mark); });
}

// A process in a list of nvidia-smi (its table, -q, -q -x): the program's name there is no output of the program.
bool names_a_process(std::string_view text) {
  const std::string_view bare = trimmed(text);
  if (bare.starts_with('|')) return bare.ends_with("MiB |") || bare.ends_with(" N/A |");
  return bare.starts_with("<process_name>") || (bare.starts_with("Name  ") && contains(bare, " : "));
}

// One file: which formats are at work, and what becomes of each line.
class FileImport {
 public:
  FileImport(const std::filesystem::path& file, const ImportOptions& options, Collected& collected)
      : reader_(file), collected_(collected), name_(file == "-" ? "standard input" : sanitised_text(file.string())) {
    for (const Format& format : formats())
      if (options.tool == "auto" || options.tool == format.name) candidates_.push_back(&format);
    named_ = options.tool != "auto";
    collected.begin_file(name_);
    const std::string_view head = reader_.head(head_bytes);
    for (const Format* format : candidates_)
      if (format->open != nullptr && (named_ || marked(*format, head))) open(*format);
  }

  void run() {
    Line line;
    while (reader_.next(line)) {
      collected_.line_read();
      if (line.cut) collected_.partial(fmt::format("line {} is longer than 1 MiB: its rest is left out", line.number));
      if (!json_line(line) && !text_line(line) && !trimmed(line.text).empty())
        collected_.not_understood(line.number, line.text);
    }
    if (json_.inside())
      collected_.partial(
          fmt::format("the JSON document that begins at line {} is cut off: nothing of it counts", json_begin_));
    for (const auto& [format, reader] : readers_) reader->end(reader_.ended());
  }

 private:
  void open(const Format& format) { readers_.emplace_back(&format, format.open(collected_)); }

  bool at_work(const Format& format) const {
    return std::any_of(readers_.begin(), readers_.end(), [&](const auto& entry) { return entry.first == &format; });
  }

  bool text_line(const Line& line) {
    bool understood = false;
    const bool process = !named_ && names_a_process(line.text);
    for (const auto& [format, reader] : readers_) {
      if (process && format->name != lists_processes) continue;
      if (!reader->line(line)) continue;
      collected_.understood_by(format->name);
      understood = true;
    }
    if (understood || named_) return understood;
    for (const Format* format : candidates_) {
      if (format->open == nullptr || at_work(*format) || !marked(*format, line.text)) continue;
      if (process && format->name != lists_processes) continue;
      open(*format);
      if (readers_.back().second->line(line)) {
        collected_.understood_by(format->name);
        understood = true;
      }
    }
    return understood;
  }

  bool json_line(const Line& line) {
    const bool outside = !json_.inside();
    const JsonCollector::State state = json_.line(line.text);
    if (outside && state != JsonCollector::State::none) json_begin_ = line.number;
    switch (state) {
      case JsonCollector::State::none:
        return false;
      case JsonCollector::State::inside:
        return true;
      case JsonCollector::State::too_large:
        collected_.partial(
            fmt::format("the JSON document that begins at line {} is larger than {} MiB: no tool writes such a one",
                        json_begin_, max_json_bytes >> 20));
        return true;
      case JsonCollector::State::complete:
        document(json_.take());
        return true;
    }
    return true;
  }

  void document(const std::string& text) {
    json value;
    try {
      value = parse_json(text, fmt::format("{}, the JSON from line {} on", name_, json_begin_));
    } catch (const UserError& error) {
      collected_.partial(error.what());
      return;
    }
    try {
      for (const Format* format : candidates_) {
        if (format->document == nullptr || !format->document(collected_, value)) continue;
        collected_.understood_by(format->name);
        return;
      }
    } catch (const json::exception&) {
      collected_.partial(fmt::format("the JSON from line {} on does not have the shape its tool writes", json_begin_));
      return;
    }
    collected_.not_understood(json_begin_, text.substr(0, text.find('\n')));
  }

  LineReader reader_;
  Collected& collected_;
  std::string name_;
  bool named_ = false;
  std::vector<const Format*> candidates_;
  std::vector<std::pair<const Format*, std::unique_ptr<Reader>>> readers_;
  JsonCollector json_;
  std::size_t json_begin_ = 0;
};

json report_json(const FileReport& file) {
  return {{"file", file.name},       {"formats", file.formats},
          {"lines", file.lines},     {"not_understood", {{"count", file.not_understood}, {"lines", file.examples}}},
          {"partial", file.partial}, {"notes", file.notes}};
}

void set_run(Document& document, const ImportOptions& options, const std::vector<FileReport>& files) {
  json list = json::array();
  std::string reason;
  for (const FileReport& file : files) {
    list.push_back(report_json(file));
    for (const std::string& text : file.partial) reason += (reason.empty() ? "" : "; ") + file.name + ": " + text;
  }
  const std::string now = utc_now();
  const bool any = std::any_of(document.measurements.begin(), document.measurements.end(),
                               [](const Measurement& measurement) { return measurement.value.has_value(); });
  document.run = {{"id", "import-" + now},
                  {"claimcheck", CLAIMCHECK_VERSION},
                  {"command", options.command},
                  {"started", now},
                  {"ended", now},
                  {"status", reason.empty() ? "complete" : "partial"},
                  {"reason", reason},
                  {"profile", "import"},
                  {"budget_seconds", nullptr},
                  {"measuring_seconds", 0},
                  {"options", json::object()},
                  {"plan", json::object()},
                  {"worker", {{"kind", "import"}, {"why", "measured by other tools"}}},
                  {"imported", list}};
  if (!any && document.findings.empty() && reason.empty()) document.run["reason"] = "the files hold no measurement";
}

}  // namespace

Imported import_files(const std::vector<std::filesystem::path>& files, const ImportOptions& options) {
  if (options.tool != "auto") format_named(options.tool);
  Collected collected(options.said);
  for (const auto& file : files) FileImport(file, options, collected).run();
  if (!collected.any()) {
    std::vector<std::string> names;
    for (const Format& format : formats()) names.emplace_back(format.name);
    std::string why;
    for (const FileReport& file : collected.files())
      for (const std::string& text : file.partial) why += "; " + text;
    throw UserError(
        fmt::format("nothing in {} was recognised as the output of {}{}",
                    files.size() == 1 ? collected.files().front().name : "these files",
                    options.tool == "auto" ? fmt::format("any of {}", fmt::join(names, ", ")) : options.tool, why));
  }
  Imported imported;
  imported.document.system = {{"host", nullptr},
                              {"os", nullptr},
                              {"kernel", nullptr},
                              {"cpu", json::object()},
                              {"memory_bytes", nullptr},
                              {"devices", json::array()},
                              {"software", json::object()},
                              {"environment", json::object()}};
  imported.document.platform = {{"instance", nullptr}, {"provider", nullptr},   {"region", nullptr},
                                {"how", "unknown"},    {"catalog_id", nullptr}, {"price", nullptr}};
  collected.into(imported.document);
  json& cpu = imported.document.system["cpu"];
  for (const char* key : {"model", "cores"})
    if (cpu.is_object() && !cpu.contains(key)) cpu[key] = nullptr;
  for (Finding& finding : findings_between_nodes(imported.document.measurements))
    imported.document.findings.push_back(std::move(finding));
  imported.files = collected.files();
  set_run(imported.document, options, imported.files);
  return imported;
}

}  // namespace claimcheck::importing
