// dcgmi diag: the table of DCGM 2 to 4 and its JSON. What was not run, or skipped, has not passed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/smi_keys.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

enum class Result { pass, skip, warn, fail, unknown };

Result result_of(std::string_view text) {
  const std::string word = lower(text.substr(0, text.find_first_of(" -,(:")));
  if (word == "pass" || word == "passed") return Result::pass;
  if (word == "fail" || word == "failed" || word == "error") return Result::fail;
  if (word == "warn" || word == "warning") return Result::warn;
  if (word == "skip" || word == "skipped" || word == "not") return Result::skip;
  return Result::unknown;
}

std::string join(const std::set<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) text += fmt::format("{}{}", text.empty() ? "" : ", ", gpu);
  return text;
}

// One test of the diagnosis.
struct Test {
  std::string name;
  Result worst = Result::unknown;
  std::map<Result, std::set<int>> gpus;
  std::string said;  // warnings and errors

  void take(Result result, std::optional<int> gpu) {
    if (gpu) gpus[result].insert(*gpu);
    if (result == Result::unknown) return;
    if (worst == Result::unknown || static_cast<int>(result) > static_cast<int>(worst)) worst = result;
  }
};

constexpr std::size_t most_tests = 500;
constexpr std::size_t most_said = 2000;  // characters

class Diagnosis {
 public:
  explicit Diagnosis(Collected& collected) : collected_(collected) {}

  Test& test(const std::string& name) {
    for (Test& test : tests_)
      if (test.name == name) return test;
    if (tests_.size() >= most_tests) {
      collected_.partial(fmt::format("more than {} tests of dcgmi diag: the rest is left out", most_tests));
      return beyond_;
    }
    tests_.emplace_back().name = name;
    return tests_.back();
  }
  Test* last() { return tests_.empty() ? nullptr : &tests_.back(); }
  bool empty() const { return tests_.empty(); }

  void publish() {
    json summary = json::object();
    std::string passed, skipped;
    for (const Test& test : tests_) {
      summary[test.name] = word(test.worst);
      if (test.worst == Result::pass) passed += (passed.empty() ? "" : ", ") + test.name;
      if (test.worst == Result::skip || test.worst == Result::unknown)
        skipped += (skipped.empty() ? "" : ", ") + test.name;
      if (test.worst == Result::fail || test.worst == Result::warn) wrong(test);
    }
    if (tests_.empty()) return;
    collected_.system("/software/dcgm_diag", summary);
    collected_.add(
        Finding{.id = "dcgm.result",
                .severity = "info",
                .text = fmt::format("dcgmi diag passed: {}; not run or skipped, so not passed: {}.",
                                    passed.empty() ? "nothing" : passed, skipped.empty() ? "nothing" : skipped),
                .next_step =
                    skipped.empty()
                        ? ""
                        : "dcgmi diag -r 3 runs more tests; some need a card of the data centre or the rights of root.",
                .evidence = {{"tests", summary}}});
  }

 private:
  static const char* word(Result result) {
    constexpr std::array<const char*, 5> words = {"pass", "skip", "warn", "fail", "unknown"};
    return words[static_cast<std::size_t>(result)];
  }

  void wrong(const Test& test) {
    const bool fail = test.worst == Result::fail;
    const auto gpus = test.gpus.find(test.worst);
    const bool setting = contains(test.said, "ersistence");
    collected_.add(Finding{.id = "dcgm." + std::string(fail ? "fail" : "warn") + ":" + test.name,
                           .severity = fail && !setting ? "error" : "warning",
                           .text = fmt::format("dcgmi diag: {} {}{}{}.", test.name, fail ? "failed" : "warns",
                                               gpus == test.gpus.end() ? "" : " on GPU " + join(gpus->second),
                                               test.said.empty() ? "" : " (" + trim(test.said) + ")"),
                           .next_step = setting
                                            ? "A setting, not a defect: nvidia-smi -pm 1 as root, then run it again."
                                            : "Run it again on an idle machine; if it fails again, return the machine.",
                           .evidence = {{"test", test.name}}});
  }

  static std::string trim(std::string text) {
    if (text.size() > 400) text = text.substr(0, 397) + "...";
    while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
    return text;
  }

  Collected& collected_;
  std::vector<Test> tests_;
  Test beyond_;  // those of which nothing is kept
};

// "0,1,2", or "0" after a word: GPUs of "Pass - GPUs: 0, 2", "Fail - GPU: 1", "GPU3".
std::set<int> gpus_in(std::string_view text) {
  std::set<int> found;
  for (std::size_t i = 0; i < text.size() && found.size() < 4096;) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end - i < 5) found.insert(static_cast<int>(number(text.substr(i, end - i)).value_or(0)));
    i = end;
  }
  return found;
}

class DcgmDiag : public Reader {
 public:
  explicit DcgmDiag(Collected& collected) : collected_(collected), diagnosis_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    if (contains(text, "Successfully ran diagnostic") || contains(text, "dcgmi diag") ||
        (text.starts_with("Executing in ") && contains(text, " on Host "))) {
      seen_ = true;
      return true;
    }
    if (text.starts_with("Error:") && seen_ && !in_table_) {
      collected_.add(Finding{.id = "dcgm.error",
                             .severity = "error",
                             .text = fmt::format("dcgmi diag did not run: \"{}\".", text),
                             .next_step = "nv-hostengine must run; the GPU must be one that DCGM supports.",
                             .evidence = json::object()});
      return true;
    }
    if (text.starts_with("| Diagnostic ") && contains(text, "Result")) return in_table_ = true;
    if (!in_table_) return text.starts_with("+----") && contains(text, "-+-");
    if (text.starts_with('+') || text.starts_with("|--") || text.starts_with("|==")) return edge(text);
    if (!text.starts_with('|')) return text.empty();
    row(text);
    return true;
  }

  void end(bool whole) override {
    if (in_table_ && !closed_)
      collected_.partial(
          "the table of dcgmi diag ends before its last line: the verdict is incomplete, tests that are not there have "
          "not passed");
    else if (!whole)
      collected_.partial("the last line has no end: the file may be cut short");
    if (seen_ && diagnosis_.empty() && !in_table_) collected_.partial("the output of dcgmi diag holds no table");
    diagnosis_.publish();
  }

 private:
  // "|-----  Metadata  ----------+----|", or the bare line that the table ends with.
  bool edge(std::string_view text) {
    section_.clear();
    for (const char c : text.substr(0, std::min<std::size_t>(text.size(), 28)))
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) section_ += c;
    closed_ = section_.empty() && !contains(text, "=");
    return true;
  }

  void row(std::string_view text) {
    closed_ = false;
    std::string_view rest = text.substr(1);
    const std::size_t bar = rest.find('|');
    const std::string_view name = trimmed(rest.substr(0, bar));
    std::string_view cell = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
    if (!cell.ends_with('|')) return;  // cut: "Pass" may go on, and lines of GPUs may follow
    cell.remove_suffix(1);
    const std::string_view plain = trimmed(cell);
    if (section_ == "Metadata") return metadata(name, plain);
    if (name.empty()) return more(cell, plain);
    if (name == "Error" || name == "Info" || name == "Warning" || name == "Warnings") {
      // The second column is cut into lines in the middle of words.
      saying_ = name != "Info";
      if (Test* last = diagnosis_.last(); saying_ && last != nullptr && last->said.size() < most_said)
        last->said += plain;
      return;
    }
    saying_ = false;
    if (plain.empty()) return;
    take(diagnosis_.test(std::string(name)), plain);
  }

  void take(Test& test, std::string_view cell) {
    const Result result = result_of(cell);
    const std::size_t colon = cell.find("GPU");
    if (colon == std::string_view::npos) return test.take(result, std::nullopt);
    for (const int gpu : gpus_in(cell.substr(colon))) test.take(result, gpu);
    test.take(result, std::nullopt);
  }

  // A line with an empty first cell: "GPU0: Pass", "Warning: GPU1...", or the rest of a sentence.
  void more(std::string_view cell, std::string_view plain) {
    Test* test = diagnosis_.last();
    if (test == nullptr || plain.empty()) return;
    const std::size_t colon = plain.find(':');
    const std::string_view head = plain.substr(0, colon);
    if (colon != std::string_view::npos && head.size() < 12 && (head.starts_with("GPU") || head.starts_with("CPU"))) {
      const Result result = result_of(trimmed(plain.substr(colon + 1)));
      if (result != Result::unknown) {
        saying_ = false;
        const auto gpus = gpus_in(head);
        test->take(result, head.starts_with("GPU") && !gpus.empty() ? std::optional(*gpus.begin()) : std::nullopt);
        return;
      }
    }
    if (plain.starts_with("Warning:") || plain.starts_with("Error:")) saying_ = true;
    if (plain.starts_with("Info:")) saying_ = false;
    if (saying_ && test->said.size() < most_said) {
      std::string_view part = cell;
      if (part.starts_with(' ')) part.remove_prefix(1);  // the cell's own margin; a blank behind it is of the sentence
      while (part.ends_with("  ")) part.remove_suffix(2);
      test->said += part;
    }
  }

  void metadata(std::string_view name, std::string_view value) {
    if (name == "DCGM Version") collected_.system("/software/dcgm", std::string(value));
    if (name == "Driver Version Detected") collected_.system("/nvidia_driver", std::string(value));
    if (name == "GPU Device IDs Detected") {
      const auto commas = static_cast<std::size_t>(std::count(value.begin(), value.end(), ','));
      // Device ids of GPUs, one each; long lists are cut over several lines.
      if (!value.empty() && !value.ends_with(',')) collected_.system("/software/dcgm_gpus", commas + 1);
    }
  }

  Collected& collected_;
  Diagnosis diagnosis_;
  std::string section_;
  bool seen_ = false;
  bool in_table_ = false;
  bool closed_ = false;
  bool saying_ = false;
};

const json* member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string string_in(const json& object, const char* key) {
  const json* found = member(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

// "gpu_id": "0", "gpu_ids": "0,1,2" (DCGM 3), "entity_group": "GPU", "entity_id": 0 (DCGM 4)
std::set<int> gpus_of(const json& result) {
  for (const char* key : {"gpu_ids", "gpu_id"})
    if (const std::string text = string_in(result, key); !text.empty()) return gpus_in(text);
  const json* id = member(result, "entity_id");
  if (string_in(result, "entity_group") == "GPU" && id != nullptr && id->is_number_integer()) return {id->get<int>()};
  return {};
}

std::string warnings_of(const json& result) {
  const json* list = member(result, "warnings");
  std::string text;
  if (list == nullptr) return text;
  if (list->is_string()) return list->get<std::string>();
  if (!list->is_array()) return text;
  for (const json& one : *list) {
    const std::string said = one.is_string() ? one.get<std::string>() : string_in(one, "warning");
    if (!said.empty() && text.size() < most_said && text.find(said) == std::string::npos)
      text += (text.empty() ? "" : "; ") + said;
  }
  return text;
}

void take_test(Diagnosis& diagnosis, const json& value) {
  const std::string name = string_in(value, "name");
  if (name.empty()) return;
  Test& test = diagnosis.test(name);
  const json* results = member(value, "results");
  for (const json& result : results != nullptr && results->is_array() ? *results : json::array()) {
    const Result status = result_of(string_in(result, "status"));
    test.take(status, std::nullopt);
    for (const int gpu : gpus_of(result)) test.take(status, gpu);
    if (const std::string said = warnings_of(result);
        test.said.find(said) == std::string::npos && test.said.size() < most_said)
      test.said += (test.said.empty() ? "" : "; ") + said;
  }
  if (const json* summary = member(value, "test_summary")) {
    test.take(result_of(string_in(*summary, "status")), std::nullopt);
    if (test.said.empty()) test.said = warnings_of(*summary);
  }
}

}  // namespace

std::unique_ptr<Reader> open_dcgm_diag(Collected& collected) { return std::make_unique<DcgmDiag>(collected); }

bool document_dcgm_diag(Collected& collected, const json& value) {
  const json* root = member(value, "DCGM Diagnostic");
  if (root == nullptr) root = member(value, "DCGM GPU Diagnostic");
  if (root == nullptr || !root->is_object()) return false;
  Diagnosis diagnosis(collected);
  const json* categories = member(*root, "test_categories");
  for (const json& category : categories != nullptr && categories->is_array() ? *categories : json::array()) {
    const json* tests = member(category, "tests");
    for (const json& test : tests != nullptr && tests->is_array() ? *tests : json::array()) take_test(diagnosis, test);
  }
  const json* metadata = member(value, "metadata");
  for (const json* place : {root, metadata})
    for (const char* key : {"Driver Version Detected", "driver_version"})
      if (place != nullptr)
        if (const std::string version = string_in(*place, key); !version.empty())
          collected.system("/nvidia_driver", version);
  for (const char* key : {"runtime_error", "Runtime Error"})
    if (const std::string said = string_in(*root, key); !said.empty())
      collected.add(Finding{.id = "dcgm.error",
                            .severity = "error",
                            .text = fmt::format("dcgmi diag did not run: \"{}\".", said.substr(0, 300)),
                            .next_step = "nv-hostengine must run; the GPU must be one that DCGM supports.",
                            .evidence = json::object()});
  if (diagnosis.empty()) collected.partial("the JSON of dcgmi diag holds no test: nothing of it has passed");
  diagnosis.publish();
  return true;
}

}  // namespace claimcheck::importing
