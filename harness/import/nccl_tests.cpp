// nccl-tests and rccl-tests as text. Several runs may stand in one file, one after the other or, when the program was
// built without MPI, mixed: then they are no run of all ranks, and nothing of them counts for one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "harness/import/cuda_errors.h"
#include "harness/import/format.h"
#include "harness/import/nccl_run.h"

namespace claimcheck::importing {
namespace {

constexpr double most_ranks = 100'000;
constexpr std::size_t most_hosts = 10'000;

class NcclTests : public Reader {
 public:
  explicit NcclTests(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (text.empty()) return false;
    const char first = text.front();
    if (first == '#' || first == ' ' || (first >= '0' && first <= '9')) {
      if (is_row(text, line.number)) return true;
    }
    // Devices first: every run of a long log lists its own.
    return text == "#" || device(text) || heading(text) || trailer(text) || failure(text) || elision(text) ||
           command(text);
  }

  void end(bool whole) override {
    finish();
    if (more_beginnings_ > 0 || !other_hosts_.empty()) report_mixed();
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
  }

 private:
  bool is_row(std::string_view text, std::size_t number) {
    if (text.front() == '#') return false;
    const Fields fields(text);
    const auto row = table_.row(fields);
    if (!row) return false;
    if (run_.ended()) finish();  // rows of a next run whose beginning is not here
    run_.row(*row, table_.counts_wrong(), number);
    return true;
  }

  bool heading(std::string_view text) {
    if (contains(text, "nThread ") && contains(text, "minBytes ")) {
      // Twice before any row: two programs write into one file.
      if (run_.has_parameters() && !run_.any_rows()) {
        ++more_beginnings_;
      } else if (run_.started() || run_.any_rows()) {
        finish();  // else the command stands before it, which names the collective
      }
      run_.parameters(text);
      return true;
    }
    if (version(text)) return true;
    if (const auto program = after(text, "Collective test starting: ")) {
      if (run_.any_rows()) finish();
      run_.collective(*program);
      return true;
    }
    if (table_.header(text)) {
      if (run_.any_rows()) finish();
      run_.header();
      if (table_.edited()) run_.edited();
      return true;
    }
    return table_.units(text) || trimmed(text) == "#" || contains(text, "# Using devices");
  }

  // "# nccl-tests version 2.17.0 nccl-headers=22703 nccl-library=22703", and what rccl-tests says in its place.
  bool version(std::string_view text) {
    for (const std::string name : {"nccl", "rccl"}) {
      auto version = after(text, name + "-tests version ");
      if (!version) version = after(text, name + "-tests: Version ");
      if (!version) continue;
      if (run_.any_rows()) finish();
      if (const Fields words(*version); words.size() > 0)
        collected_.system("/software/" + name + "-tests", std::string(words[0]));
      if (const auto library = after(text, name + "-library="))
        if (const Fields words(*library); words.size() > 0)
          if (const auto code = importing::number(words[0]))
            collected_.system("/software/" + name, version_text(*code));
      return true;
    }
    for (const auto& [begin, place] :
         std::array<std::pair<std::string_view, const char*>, 5>{{{"RCCL version : ", "/software/rccl"},
                                                                  {"HIP version  : ", "/software/hip"},
                                                                  {"ROCm version : ", "/software/rocm"},
                                                                  {"Hostname     : ", nullptr},
                                                                  {"Librccl path : ", nullptr}}}) {
      if (!text.starts_with(begin)) continue;
      if (place != nullptr) collected_.system(place, std::string(trimmed(text.substr(begin.size()))));
      return true;
    }
    return false;
  }

  // 23102 is 2.31.2, 2708 is 2.7.8.
  static std::string version_text(double code) {
    const int whole = static_cast<int>(code);
    return whole >= 10000 ? fmt::format("{}.{}.{}", whole / 10000, whole / 100 % 100, whole % 100)
                          : fmt::format("{}.{}.{}", whole / 1000, whole / 100 % 10, whole % 100);
  }

  // "#  Rank  0 Group  0 Pid   3255 on      node-2 device  0 [0x03] NVIDIA A100", NCCL 1: "Rank 0 uses device 0 [0x04]
  // ..."
  bool device(std::string_view text) {
    const std::size_t begin = text.find("Rank ");
    if (begin == std::string_view::npos || !contains(text, "device ")) return false;
    const Fields fields(text.substr(begin));
    if (fields.size() < 5) return false;
    const auto number = importing::number(fields[1]);
    NcclRank rank;
    std::size_t at = 2;
    for (; at + 1 < fields.size() && fields[at] != "device"; ++at)
      if (fields[at] == "on") rank.host = std::string(fields[at + 1]);
    if (!number || *number < 0 || *number >= most_ranks || at + 1 >= fields.size()) return false;
    rank.device = static_cast<int>(importing::number(fields[at + 1]).value_or(0));
    for (at += 2; at < fields.size(); ++at) {
      const bool bus = rank.bus.empty() && rank.gpu.empty() && fields[at].front() == '[';
      if (bus) {
        rank.bus = std::string(fields[at]);
      } else {
        rank.gpu += (rank.gpu.empty() ? "" : " ") + std::string(fields[at]);
      }
    }
    if (run_.any_rows()) finish();
    if (!run_.rank(static_cast<int>(*number), rank)) note_host(rank.host);
    return true;
  }

  void note_host(const std::string& host) {
    if (other_hosts_.size() < most_hosts) other_hosts_.insert(host);
  }

  bool trailer(std::string_view text) {
    if (const auto average = after(text, "Avg bus bandwidth")) {
      const Fields fields(*average);
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (const auto value = importing::number(fields[i])) run_.average(*value);
      run_.trailer();
      return true;
    }
    if (const auto bounds = after(text, "Out of bounds values")) {
      run_.trailer();
      run_.bounds();
      if (contains(*bounds, "FAILED"))
        collected_.add(Finding{
            "import.out_of_bounds",
            "error",
            "nccl-tests says that results were out of bounds.",
            "Test each node and each GPU alone; wrong sums without an error mean memory, links or a driver at fault.",
            {}});
      return true;
    }
    return contains(text, "# Collective test concluded") || contains(text, "# Errors with asterisks");
  }

  // "node-1: Test CUDA failure common.cu:1030 'system not yet initialized'"
  bool failure(std::string_view text) {
    const bool cuda = contains(text, "Test CUDA failure") || contains(text, "CUDA failure");
    const bool nccl = contains(text, "Test NCCL failure") || contains(text, "NCCL failure");
    if (!cuda && !nccl) return contains(text, ": Test failure ");
    const std::size_t quote = text.find('\'');
    const std::string what(quote == std::string_view::npos ? text
                                                           : text.substr(quote + 1, text.rfind('\'') - quote - 1));
    if (cuda) collected_.add(cuda_error_finding(what));
    if (nccl)
      collected_.add(Finding{"import.nccl_failure",
                             "error",
                             fmt::format("NCCL failed: {}.", what),
                             "Run it again with NCCL_DEBUG=INFO: the first WARN line names the cause.",
                             {}});
    run_.failure(what);
    return true;
  }

  bool elision(std::string_view text) {
    const std::string_view bare = trimmed(text);
    if (bare != "..." && bare != "[...]" && bare != "\xe2\x80\xa6") return false;
    if (run_.started()) run_.elided();
    return true;
  }

  // A shell's prompt and the command, maybe with the first line of the output glued to it.
  bool command(std::string_view text) {
    const bool perf = contains(text, "_perf") || contains(text, "_test ");
    if (!perf) return false;
    if (run_.any_rows()) finish();
    run_.collective(text);
    return true;
  }

  void finish() {
    if (run_.ranks() == told_)
      run_.ranks_are_known();
    else
      told_ = run_.ranks();
    if (run_.started() || run_.any_rows()) run_.report(collected_, collected_.said().ranks, collected_.said().nodes);
    run_ = NcclRun();
  }

  void report_mixed() {
    const std::size_t runs = 1 + std::max(more_beginnings_, other_hosts_.size());
    collected_.invalid(fmt::format(
        "{} separate runs write into this log, each of its own ranks: nothing was sent between them", runs));
    collected_.add(Finding{
        "import.separate_runs",
        "error",
        fmt::format(
            "This log is {} separate runs at the same time, not one of all ranks: ranks have the same numbers on "
            "different hosts, or the beginning stands there more than once. No traffic crossed the network "
            "between them.",
            runs),
        "Build nccl-tests with MPI=1 (make clean first), and start it with mpirun or srun.",
        {}});
  }

  Collected& collected_;
  NcclTable table_;
  NcclRun run_;
  std::map<int, NcclRank> told_;  // the devices of the run before
  std::size_t more_beginnings_ = 0;
  std::set<std::string> other_hosts_;  // whose ranks have numbers that others had before
};

}  // namespace

std::unique_ptr<Reader> open_nccl_tests(Collected& collected) { return std::make_unique<NcclTests>(collected); }

}  // namespace claimcheck::importing
