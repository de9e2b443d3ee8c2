#include "harness/import/nccl_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "harness/report/quantity.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr double telling_bytes = 1 << 20;  // below, a collective is start-up and says nothing about bandwidth
constexpr std::size_t most_rows = 20'000;  // of one run: sizes are powers of two or steps between two bounds

struct Program {
  std::string_view name;
  std::string_view family;
};
constexpr std::array<Program, 12> programs = {{{"all_reduce", "allreduce"},
                                               {"all_gather", "allgather"},
                                               {"reduce_scatter", "reducescatter"},
                                               {"broadcast", "broadcast"},
                                               {"sendrecv", "sendrecv"},
                                               {"alltoall", "alltoall"},
                                               {"AllReduce", "allreduce"},
                                               {"AllGather", "allgather"},
                                               {"ReduceScatter", "reducescatter"},
                                               {"Broadcast", "broadcast"},
                                               {"SendRecv", "sendrecv"},
                                               {"AlltoAll", "alltoall"}}};

bool reduces_all(const std::string& family) { return family == "allreduce"; }
bool moves_all_but_own(const std::string& family) {
  return family == "allgather" || family == "reducescatter" || family == "alltoall";
}

std::optional<double> parameter(std::string_view line, std::string_view name) {
  const auto rest = after(line, name);
  if (!rest) return std::nullopt;
  const Fields fields(*rest);
  return fields.size() == 0 ? std::nullopt : number(fields[0]);
}

constexpr std::string_view latency = "latency.us";

// The bytes of a number, for keys that nobody reads.
void append(std::string& key, double value) {
  std::array<char, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  key.append(bytes.data(), bytes.size());
}

std::string size_text(double bytes) { return binary_bytes_text(bytes); }

}  // namespace

void NcclRun::parameters(std::string_view line) {
  has_parameters_ = true;
  min_bytes_ = parameter(line, "minBytes ");
  max_bytes_ = parameter(line, "maxBytes ");
  for (const std::string_view mark : {" iters: ", " iters "})
    if (const auto rest = line.rfind(mark); rest != std::string_view::npos && !iterations_)
      iterations_ = parameter(
          line.substr(line.find("warmup iters: ") == std::string_view::npos ? 0 : line.find("warmup iters: ") + 14),
          mark);
  validated_ = parameter(line, "validation: ").value_or(1) != 0;
}

void NcclRun::collective(std::string_view program) {
  for (const Program& known : programs)
    if (contains(program, known.name)) family_ = known.family;
}

bool NcclRun::rank(int number, const NcclRank& rank) {
  const auto [known, is_new] = ranks_.emplace(number, rank);
  return is_new || (known->second.host == rank.host && known->second.device == rank.device);
}

void NcclRun::row(const NcclRow& from, bool counts_wrong, std::size_t line) {
  if (rows_.size() >= most_rows) return;
  Row row;
  row.bytes = from.bytes;
  row.type = from.type;
  row.op = from.op;
  row.count = from.count;
  row.two_halves = from.two_halves;
  row.nodes = from.nodes;
  row.line = line;
  const auto half_of = [&](const NcclHalf& half) -> std::optional<Half> {
    if (!half.time_us || !(*half.time_us > 0)) return std::nullopt;
    Half made;
    made.time_us = *half.time_us;
    made.busbw = half.busbw;
    made.algbw = half.algbw;
    made.checked = !half.unchecked && validated_;
    // "error" of old versions is a deviation: 1e-06 is rounding, never a count.
    made.wrong = counts_wrong && half.wrong.value_or(0) >= 1 ? *half.wrong : 0;
    return made;
  };
  row.out = half_of(from.out);
  row.in = half_of(from.in);
  if (!row.out && !row.in) return;
  if (row.bytes > 0) smallest_ = std::min(smallest_, row.bytes);
  if (rows_.empty()) rows_.reserve(32);
  rows_.push_back(std::move(row));
}

std::optional<double> NcclRun::factor_at(const Row& row) const {
  for (const auto* half : {&row.out, &row.in}) {
    if (!*half || !(*half)->busbw || !(*(*half)->busbw > 0) || row.bytes <= 0) continue;
    const double algbw = row.bytes / (*half)->time_us / 1e3;
    return *(*half)->busbw / algbw;
  }
  return std::nullopt;
}

const NcclRun::Row* NcclRun::largest() const {
  const Row* found = nullptr;
  for (const Row& row : rows_)
    if (factor_at(row) && (found == nullptr || row.bytes > found->bytes)) found = &row;
  return found;
}

// Two decimals are printed: of 0.13 the last one is 4 %, and a factor of 0.977 may be 1.
std::string NcclRun::family_by_factor(const Row& row, double factor, Collected& collected) const {
  const double printed = row.out && row.out->busbw ? *row.out->busbw : row.in ? row.in->busbw.value_or(0) : 0;
  const double close = 0.02 + (printed > 0 ? 0.005 / printed : 1);
  if (factor > 1 + close) return "allreduce";
  if (factor > 1 - close) {
    if (row.op == "sum" || row.op.empty())
      collected.note(
          "busbw equals algbw: an all-reduce of 2 ranks, send/receive or broadcast; the log does not say which");
    return "collective";
  }
  if (row.op == "sum") return "reducescatter";
  collected.note("a collective whose name is not in the log: all-gather, reduce-scatter or all-to-all");
  return "collective";
}

// What the largest row tells of the number of ranks. Unset where it tells nothing.
std::optional<RanksFit> NcclRun::fit(const std::string& family, const Row& row, double factor) const {
  NcclFactor kind = NcclFactor::none;
  if (reduces_all(family)) kind = NcclFactor::both_ways;
  if (moves_all_but_own(family) || (family == "collective" && factor > 0 && factor < 0.98)) kind = NcclFactor::one_way;
  for (const auto* half : {&row.out, &row.in})
    if (*half && (*half)->busbw) return fit_ranks(kind, row.bytes, (*half)->time_us, *(*half)->busbw);
  return std::nullopt;
}

// From the device list where it is whole, else from the figures; both are held against each other and what is said.
void NcclRun::count_ranks(Collected& collected, Meaning& meaning, std::optional<int> asked_ranks) const {
  const Row* row = largest();
  const auto fitted = row == nullptr ? std::nullopt : fit(meaning.family, *row, factor_at(*row).value_or(0));
  // The last rank of an excerpt tells how many there were at least.
  const int seen = ranks_.empty() ? 0 : ranks_.rbegin()->first + 1;
  const bool all_seen = seen > 0 && static_cast<int>(ranks_.size()) == seen;
  const auto size = [&] { return size_text(row->bytes); };
  if (all_seen) {
    meaning.ranks = seen;
  } else if (std::any_of(rows_.begin(), rows_.end(), [](const Row& other) { return other.nodes.has_value(); })) {
    collected.note("a column stands in front of the sizes: taken for the number of nodes, ranks are each row's own");
    return;
  } else if (fitted && fitted->ranks) {
    meaning.ranks = fitted->ranks;
    collected.note(fmt::format("{} ranks, inferred from busbw and time at {}{}", *fitted->ranks, size(),
                               seen > 0 ? fmt::format("; the log names rank {}", seen - 1) : ""));
  } else if (fitted && asked_ranks && fitted->fits(*asked_ranks)) {
    meaning.ranks = asked_ranks;
  } else if (fitted) {
    collected.note(
        fmt::format("how many ranks took part is not in the log; busbw and time at {} fit {}: too few digits to tell",
                    size(), fitted->text()));
  } else if (seen > 0) {
    meaning.ranks = seen;
  }
  if (all_seen && fitted && row->bytes >= telling_bytes && !fitted->fits(seen) &&
      (seen < 0.88 * fitted->low || seen > 1.12 * fitted->high)) {
    collected.add(Finding{"import.ranks",
                          "error",
                          fmt::format("The device list has {} ranks, but busbw over algbw at {} is that of {}.", seen,
                                      size(), fitted->ranks ? std::to_string(*fitted->ranks) : fitted->text()),
                          "The rows are not of the run whose devices are listed; import the log of one run.",
                          {}});
    meaning.ranks = fitted->ranks;
  }
  const bool other = asked_ranks && meaning.ranks && *asked_ranks != *meaning.ranks;
  if (!other && !(asked_ranks && !meaning.ranks && fitted && !fitted->fits(*asked_ranks))) return;
  meaning.refuted = true;
  collected.add(
      Finding{"import.ranks_claimed",
              "error",
              fmt::format("{} ranks are said to have taken part, but the numbers are those of {}: this log "
                          "is no evidence for {} ranks.",
                          *asked_ranks, other ? std::to_string(*meaning.ranks) : fitted->text(), *asked_ranks),
              "Import the log of the run that is meant; nccl-tests built without MPI runs alone on each node.",
              {}});
}

NcclRun::Meaning NcclRun::meaning(Collected& collected, std::optional<int> asked_ranks,
                                  std::optional<int> asked_nodes) const {
  Meaning meaning;
  meaning.family = family_;
  const Row* row = largest();
  if (meaning.family.empty())
    meaning.family = row == nullptr ? "collective" : family_by_factor(*row, *factor_at(*row), collected);
  count_ranks(collected, meaning, asked_ranks);
  std::set<std::string> hosts;
  for (const auto& [number, rank] : ranks_) hosts.insert(rank.host);
  const bool all_seen = !ranks_.empty() && static_cast<int>(ranks_.size()) == ranks_.rbegin()->first + 1;
  if (!hosts.empty() && all_seen) meaning.nodes = static_cast<int>(hosts.size());
  if (asked_nodes && meaning.nodes && *asked_nodes != *meaning.nodes)
    collected.add(Finding{"import.nodes_claimed",
                          "error",
                          fmt::format("{} nodes are said to have taken part, but the device list names {}.",
                                      *asked_nodes, *meaning.nodes),
                          "Import the log of the run that is meant.",
                          {}});
  if (asked_nodes && !meaning.nodes && !meaning.refuted) meaning.nodes = asked_nodes;
  return meaning;
}

Measurement NcclRun::described(const Row& row, const Half& half, bool in_place, const Meaning& meaning,
                               std::string_view quantity) const {
  Measurement measurement;
  measurement.id = fmt::format("{}/bytes:{:.0f}{}", meaning.family, row.bytes, in_place ? "/in_place" : "");
  measurement.metric = fmt::format("{}.{}", meaning.family, quantity);
  measurement.unit = quantity == latency ? "us" : "GB/s";
  measurement.conditions = {
      {"method", method_}, {"bytes", row.bytes}, {"in_place", in_place}, {"checked", half.checked}};
  if (!row.two_halves) measurement.conditions["in_place"] = "unknown";
  if (!row.type.empty()) measurement.conditions["data_type"] = nccl_type_name(row.type);
  if (!row.op.empty()) measurement.conditions["redop"] = row.op;
  const auto nodes = row.nodes ? std::optional(static_cast<int>(*row.nodes)) : meaning.nodes;
  if (const auto ranks = ranks_of(row, meaning)) measurement.conditions["ranks"] = *ranks;
  if (nodes) measurement.conditions["nodes"] = *nodes;
  if (row.nodes) measurement.id += fmt::format("/nodes:{:.0f}", *row.nodes);
  if (iterations_) measurement.conditions["iterations"] = *iterations_;
  measurement.evidence = {{"line", row.line}};
  return measurement;
}

std::optional<int> NcclRun::ranks_of(const Row& row, const Meaning& meaning) const {
  if (row.nodes)
    if (const auto fitted = fit(meaning.family, row, factor_at(row).value_or(0))) return fitted->ranks;
  return meaning.ranks;
}

// What tells the measurements of one run from those of another.
std::string NcclRun::key_of(const Meaning& meaning) const {
  return fmt::format("{} {} {} {} {} ", meaning.family, method_, meaning.ranks.value_or(-1), meaning.nodes.value_or(-1),
                     iterations_.value_or(-1));
}

void NcclRun::report_half(Collected& collected, const Row& row, const Half& half, bool in_place, const Meaning& meaning,
                          std::string& key) const {
  Outcome status = Outcome::ok;
  std::string reason;
  if (meaning.ranks == 1) {
    status = Outcome::unsupported;
    reason = "one rank: nothing is communicated, and the figures mean nothing";
  } else if (half.wrong > 0) {
    status = Outcome::wrong_result;
    reason = fmt::format("{:.0f} wrong values at {}", half.wrong, size_text(row.bytes));
  }
  const bool valued = status == Outcome::ok;
  const std::size_t length = key.size();
  append(key, row.bytes);
  append(key, row.nodes.value_or(-1));
  append(key, row.nodes ? ranks_of(row, meaning).value_or(-1) : 0);
  key.append(row.type).append(" ").append(row.op).append(in_place ? " i" : " o");
  key += static_cast<char>('0' + (half.checked ? 1 : 0) + (row.two_halves ? 2 : 0));
  const auto add = [&](std::string_view quantity, std::optional<double> value) {
    key += quantity.front();
    collected.add(key, status, valued ? value : std::nullopt, reason,
                  [&] { return described(row, half, in_place, meaning, quantity); });
    key.pop_back();
  };
  const bool named = meaning.family != "collective";
  // 0.00 is a figure that two digits cannot show, not a dead link.
  if (half.busbw && (*half.busbw > 0 || !valued)) {
    add("busbw.gbps", half.busbw);
    if (named) add("algbw.gbps", row.bytes / half.time_us / 1e3);
  }
  constexpr double small = 1024;
  if (valued && row.bytes <= small && row.bytes <= smallest_ && !in_place && named) add(latency, half.time_us);
  key.resize(length);
}

void NcclRun::report_row(Collected& collected, const Row& row, const Meaning& meaning, std::string& key) const {
  if (row.bytes <= 0) return;  // "-b 1" of four-byte elements: nothing was sent
  if (row.out) report_half(collected, row, *row.out, false, meaning, key);
  if (row.in) report_half(collected, row, *row.in, true, meaning, key);
}

void NcclRun::check_correctness(Collected& collected) const {
  const auto checked = [&](std::optional<Half> Row::*half) {
    return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.*half && (row.*half)->checked; });
  };
  const bool out = checked(&Row::out);
  const bool in = checked(&Row::in);
  const bool both = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.out && row.in; });
  if (rows_.empty() || edited_ || method_ != "nccl-tests") return;
  if (!out && !in)
    collected.note(bounds_ ? "results were not checked: the trailer's \"0 OK\" says nothing then"
                           : "results were not checked");
  else if (both && out != in)
    collected.note(fmt::format("results {} were checked, those {} were not", out ? "out of place" : "in place",
                               out ? "in place" : "out of place"));
}

void NcclRun::check_sizes(Collected& collected) const {
  double most = 0;
  for (const Row& row : rows_) most = std::max(most, row.bytes);
  if (most > 0 && most < telling_bytes)
    collected.note(fmt::format("the largest size is {}: too small to say anything about bandwidth", size_text(most)));
}

void NcclRun::check_average(Collected& collected) const {
  if (!average_ || rows_.empty()) return;
  double sum = 0;
  double count = 0;
  for (const Row& row : rows_)
    for (const auto* half : {&row.out, &row.in})
      if (*half && (*half)->busbw) {
        sum += *(*half)->busbw;
        ++count;
      }
  if (count == 0) return;
  const double average = sum / count;
  if (std::abs(average - *average_) > 0.02 * std::max(average, *average_) + 0.02) {
    collected.partial(fmt::format("rows are missing: the printed average is {}, that of the rows here {}",
                                  number_text(*average_), number_text(average)));
  }
}

void NcclRun::check_completeness(Collected& collected) const {
  if (elided_) collected.partial("rows were cut out (\"...\")");
  if (edited_)
    collected.note("columns are missing: somebody edited the table; whether results were checked is unknown");
  if (!header_ && !rows_.empty()) collected.partial("the table has no header: an excerpt");
  if (header_ && rows_.empty() && failure_.empty()) {
    collected.partial("a header without rows: the run hung before its first size, or the log was cut");
    collected.add(Finding{
        "import.hang",
        "warning",
        "nccl-tests printed its header and no row: it hung, or the log was cut.",
        "Run it again with NCCL_DEBUG=INFO; a rank that does not answer, or a firewall between nodes, hangs it.",
        {}});
  }
  if (rows_.empty() || trailer_) return;
  const double last = rows_.back().bytes;
  if (max_bytes_ && last < *max_bytes_)
    collected.partial(fmt::format("the log ends at {} of {}: the run was stopped, hung, or the log was cut",
                                  size_text(last), size_text(*max_bytes_)));
  else
    collected.partial("the end of the output is missing: an excerpt");
}

void NcclRun::report(Collected& collected, std::optional<int> asked_ranks, std::optional<int> asked_nodes) const {
  if (!ranks_known_) report_devices(collected);
  const Meaning found = meaning(collected, asked_ranks, asked_nodes);
  std::string key = key_of(found);
  for (const Row& row : rows_) report_row(collected, row, found, key);
  if (found.ranks == 1) collected.note("one rank took part: there is nothing to judge");
  if (rows_.empty() && !ranks_.empty() && found.ranks)
    collected.note(fmt::format("the device list names {} ranks{}", ranks_.size(),
                               found.nodes ? fmt::format(" on {} nodes", *found.nodes) : ""));
  check_correctness(collected);
  check_sizes(collected);
  if (iterations_ == 1) collected.note("one iteration for each size: the spread is not known");
  check_average(collected);
  check_completeness(collected);
}

}  // namespace claimcheck::importing
