#include "bench/node_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/facts_json.h"

namespace claimcheck::bench {

using kernels::Collective;
using nlohmann::json;

namespace {

constexpr std::size_t small_bytes = 8;
constexpr int timings = 5;            // of each pair, whose median counts
constexpr int most_shown_nodes = 64;  // of a matrix; its text would be megabytes for many more

std::vector<int> processes_of(const kernels::World& world, const NodePair& nodes) {
  std::vector<int> result;
  for (int process = 0; process < world.processes(); ++process)
    if (world.node_of(process) == nodes.first || world.node_of(process) == nodes.second) result.push_back(process);
  return result;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

json to_json(const NodePair& pair) { return json::array({pair.first, pair.second}); }

std::vector<PairRate> bandwidth_rates(const std::vector<PairReading>& readings) {
  std::vector<PairRate> rates;
  for (const PairReading& one : readings) rates.push_back({one.pair, one.busbw_gbps});
  return rates;
}

std::vector<PairRate> latency_rates(const std::vector<PairReading>& readings) {
  std::vector<PairRate> rates;
  for (const PairReading& one : readings) rates.push_back({one.pair, one.latency_us > 0 ? 1 / one.latency_us : 0});
  return rates;
}

// What the others did not do, or could not say: the pair as a whole fails with it.
bool is_of_the_pair(const kernels::Error& error) {
  const kernels::Outcome outcome = error.detail().outcome;
  return !error.detail().context_dead &&
         (outcome == kernels::Outcome::failed || outcome == kernels::Outcome::timed_out);
}

}  // namespace

NodeLink::NodeLink(const Setting& setting, const NodePair& nodes, std::size_t bytes)
    : part_(kernels::part_of(setting.world, processes_of(setting.world, nodes),
                             kernels::Duration(setting.options.deadline_seconds))) {
  Setting of_pair{setting.platform, *part_, setting.options, setting.chosen, group_};
  bandwidth_ = std::make_unique<CollectiveRun>(of_pair, Collective::all_reduce, bytes, false);
  latency_ = std::make_unique<CollectiveRun>(of_pair, Collective::all_reduce, small_bytes, false);
}

Iteration NodeLink::slower(Iteration mine) {
  mine.seconds = part_->max(mine.seconds);
  return mine;
}

Iteration NodeLink::bandwidth() { return slower(bandwidth_->iterate()); }
Iteration NodeLink::latency() { return slower(latency_->iterate()); }

void NodeLink::verify() {
  bandwidth_->verify();
  latency_->verify();
}

json NodeLink::group_facts() const { return bench::to_json(group_->facts()); }

NodeSweep::NodeSweep(Setting& setting) : setting_(setting), bytes_(link_bytes(setting.platform, setting.options)) {
  const int nodes = setting.world.nodes();
  for (const std::vector<NodePair>& round : tournament(nodes))
    for (PairReading& one : measure(round)) at_once_.push_back(std::move(one));
  // Each is judged by its own figures, and all that either suspects is measured again.
  const std::vector<PairRate> bandwidths = bandwidth_rates(at_once_);
  const std::vector<PairRate> latencies = latency_rates(at_once_);
  bandwidth_.level = level_of(nodes, bandwidths, least_drop_of_bandwidth);
  latency_.level = level_of(nodes, latencies, least_drop_of_latency);
  std::vector<NodePair> again;
  for (const Again& one :
       {to_measure_again(nodes, bandwidths, bandwidth_.level), to_measure_again(nodes, latencies, latency_.level)})
    for (const std::vector<NodePair>& list : {one.controls, one.suspects})
      for (const NodePair& pair : list)
        if (std::find(again.begin(), again.end(), pair) == again.end()) again.push_back(pair);
  for (const NodePair& pair : again) alone_.push_back(measure_alone(pair));
  bandwidth_.verdict = find_guilty(nodes, bandwidths, bandwidth_.level, bandwidth_rates(alone_));
  bandwidth_.kept_at_once = kept_at_once(bandwidths, bandwidth_.level, bandwidth_rates(alone_));
  latency_.verdict = find_guilty(nodes, latencies, latency_.level, latency_rates(alone_));
  refuse_failures();
  connect();
}

bool NodeSweep::is_in(const NodePair& pair) const {
  const int node = setting_.world.node();
  return pair.first == node || pair.second == node;
}

std::vector<PairReading> NodeSweep::measure(const std::vector<NodePair>& pairs) {
  std::optional<PairReading> mine;
  for (const NodePair& pair : pairs)
    if (is_in(pair)) mine = measure_own(pair);
  return share(pairs, mine);
}

// The better of two: what disturbs for a moment is no fault of the pair.
PairReading NodeSweep::measure_alone(const NodePair& pair) {
  PairReading first = measure({pair})[0];
  const PairReading second = measure({pair})[0];
  if (!second.failure.empty()) return first;
  if (!first.failure.empty()) return second;
  first.busbw_gbps = std::max(first.busbw_gbps, second.busbw_gbps);
  first.latency_us = std::min(first.latency_us, second.latency_us);
  return first;
}

PairReading NodeSweep::measure_own(const NodePair& pair) {
  PairReading reading{.pair = pair, .failure = {}};
  try {
    NodeLink link(setting_, pair, bytes_);
    std::vector<double> large;
    std::vector<double> small;
    for (int i = 0; i < timings; ++i) {
      large.push_back(link.bandwidth().seconds);
      small.push_back(link.latency().seconds);
    }
    link.verify();
    reading.busbw_gbps = link.bus_bytes() / median_of(large) / 1e9;
    reading.latency_us = median_of(small) / link.latency_passes() * 1e6;
    if (link.speaks()) reading.group = link.group_facts();
  } catch (const kernels::PeersFailed&) {
    throw;
  } catch (const kernels::Error& error) {
    if (!is_of_the_pair(error)) throw;
    reading = {.pair = pair, .failure = error.what()};
  }
  return reading;
}

std::vector<PairReading> NodeSweep::share(const std::vector<NodePair>& pairs, const std::optional<PairReading>& mine) {
  json own = nullptr;
  if (mine)
    own = {{"first", mine->pair.first},
           {"gbps", mine->busbw_gbps},
           {"us", mine->latency_us},
           {"group", mine->group},
           {"failure", mine->failure}};
  std::map<int, PairReading> by_first;
  for (const std::string& text : setting_.world.gather(own.dump(-1, ' ', false, json::error_handler_t::replace))) {
    const json theirs = json::parse(text);
    if (theirs.is_null()) continue;
    PairReading& reading = by_first[theirs["first"].get<int>()];
    reading.busbw_gbps = std::max(reading.busbw_gbps, theirs["gbps"].get<double>());
    reading.latency_us = std::max(reading.latency_us, theirs["us"].get<double>());
    if (reading.failure.empty()) reading.failure = theirs["failure"].get<std::string>();
    if (reading.group.empty()) reading.group = theirs["group"];
  }
  std::vector<PairReading> readings;
  for (const NodePair& pair : pairs) {
    PairReading& reading = readings.emplace_back(by_first.at(pair.first));
    reading.pair = pair;
    if (!reading.failure.empty()) reading.busbw_gbps = reading.latency_us = 0;
  }
  return readings;
}

const PairReading& NodeSweep::last_of(const NodePair& pair) const {
  for (const std::vector<PairReading>* readings : {&alone_, &at_once_})
    for (const PairReading& one : *readings)
      if (one.pair == pair) return one;
  return at_once_.front();
}

// A pair that cannot talk is worse than a slow one, and no figure may pass for it.
void NodeSweep::refuse_failures() const {
  for (const PairReading& one : at_once_) {
    const std::string& failure = last_of(one.pair).failure;
    if (failure.empty()) continue;
    throw kernels::Error({.outcome = kernels::Outcome::failed,
                          .library = "claimcheck",
                          .code = {},
                          .text = fmt::format("nodes {} and {} cannot talk to each other ({}); {}", one.pair.first,
                                              one.pair.second, failure, verdict_text()),
                          .remedy = "take that node out of the host list, or see to its adapters and cables"});
  }
}

// Of the slow pairs, if there are any: what was measured alone and what was measured at once are not compared.
NodePair NodeSweep::slowest_of(const Verdict& verdict, const std::vector<PairRate>& rates) {
  const std::vector<PairRate>& among = verdict.slow.empty() ? rates : verdict.slow;
  return std::min_element(among.begin(), among.end(),
                          [](const PairRate& a, const PairRate& b) { return a.rate < b.rate; })
      ->pair;
}

void NodeSweep::connect() {
  slowest_ = slowest_of(bandwidth_.verdict, bandwidth_rates(at_once_));
  latest_ = slowest_of(latency_.verdict, latency_rates(at_once_));
  if (is_in(slowest_)) slowest_link_ = std::make_unique<NodeLink>(setting_, slowest_, bytes_);
  if (!(latest_ == slowest_) && is_in(latest_)) latest_link_ = std::make_unique<NodeLink>(setting_, latest_, bytes_);
  bus_bytes_ = setting_.world.max(slowest_link_ ? slowest_link_->bus_bytes() : 0);
  const auto ranks = static_cast<std::int64_t>(processes_of(setting_.world, slowest_).size());
  conditions_ = {{"data_type", to_string(collective_type)},
                 {"data_pattern", "normal"},
                 {"bytes", bytes_},
                 {"ranks", ranks * static_cast<std::int64_t>(setting_.platform.ranks().size())},
                 {"collective", "all_reduce"},
                 {"statistic", "slowest pair of nodes, alone"}};
}

Iteration NodeSweep::iterate() {
  Iteration large;
  if (slowest_link_) large = slowest_link_->bandwidth();
  large.seconds = setting_.world.max(large.seconds);
  NodeLink* const other = latest_ == slowest_ ? slowest_link_.get() : latest_link_.get();
  Iteration small;
  if (other != nullptr) small = other->latency();
  const double small_seconds = setting_.world.max(small.seconds);
  latency_us_ = setting_.world.max(other != nullptr ? small.seconds / other->latency_passes() : 0) * 1e6;
  Iteration iteration;
  iteration.seconds = large.seconds;
  iteration.busy_seconds = large.seconds + small_seconds;
  // Of those that worked; the others only waited for them.
  iteration.host_seconds = setting_.world.max(large.host_seconds) + setting_.world.max(small.host_seconds);
  return iteration;
}

void NodeSweep::verify() {
  for (const auto* link : {&slowest_link_, &latest_link_})
    if (*link) (*link)->verify();
}

void NodeSweep::spoil() {
  if (slowest_link_) slowest_link_->spoil();
}

std::string NodeSweep::verdict_text() const {
  const int nodes = setting_.world.nodes();
  std::string text = sentence(bandwidth_.verdict, nodes, "bandwidth");
  if (latency_.verdict.kind == Verdict::Kind::guilty) text += "; " + sentence(latency_.verdict, nodes, "latency");
  constexpr double shared = 0.8;
  if (bandwidth_.kept_at_once > 0 && bandwidth_.kept_at_once < shared)
    text += fmt::format("; with all nodes at work a pair keeps {:.0f} % of what it has alone: they share something",
                        100 * bandwidth_.kept_at_once);
  return text;
}

// Pairs that talk over another transport than most.
json NodeSweep::odd_transports() const {
  std::map<std::string, int> counts;
  const auto transport_of = [](const PairReading& one) {
    const json found = one.group.value("transport", json());
    return found.is_string() ? found.get<std::string>() : std::string();
  };
  for (const PairReading& one : at_once_) ++counts[transport_of(one)];
  const auto usual =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  json odd = json::array();
  for (const PairReading& one : at_once_)
    if (transport_of(one) != usual->first)
      odd.push_back({{"nodes", to_json(one.pair)}, {"transport", transport_of(one)}});
  return odd;
}

// A suspect that was cleared stands with what it reached alone; all others as measured, all nodes at work.
const PairReading& NodeSweep::shown(const Found& found, double rate, const PairReading& at_once) const {
  const std::vector<PairRate>& slow = found.verdict.slow;
  const bool cleared = rate < found.level.limit() && std::none_of(slow.begin(), slow.end(), [&](const PairRate& one) {
                         return one.pair == at_once.pair;
                       });
  return cleared ? last_of(at_once.pair) : at_once;
}

json NodeSweep::evidence() const {
  const auto nodes = static_cast<std::size_t>(setting_.world.nodes());
  const json row = std::vector<json>(nodes);
  json gbps = std::vector<json>(nodes, row);
  json us = gbps;
  std::vector<std::vector<double>> of_node(nodes);
  for (const PairReading& one : at_once_)
    for (const auto& [from, to] :
         {std::pair(one.pair.first, one.pair.second), std::pair(one.pair.second, one.pair.first)}) {
      gbps[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] =
          shown(bandwidth_, one.busbw_gbps, one).busbw_gbps;
      us[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] =
          shown(latency_, 1 / one.latency_us, one).latency_us;
      of_node[static_cast<std::size_t>(from)].push_back(one.busbw_gbps);
    }
  json evidence = {{"verdict", verdict_text()},
                   {"guilty_nodes", bandwidth_.verdict.nodes},
                   {"guilty_links", json::array()},
                   {"level_gbps", bandwidth_.level.rate},
                   {"slow_below_gbps", bandwidth_.level.limit()},
                   {"slowest_pair", to_json(slowest_)},
                   {"latest_pair", to_json(latest_)},
                   {"group", last_of(slowest_).group},
                   {"node_medians_gbps", json::array()},
                   {"measured_again", json::array()}};
  for (const NodePair& link : bandwidth_.verdict.links) evidence["guilty_links"].push_back(to_json(link));
  for (const std::vector<double>& values : of_node) evidence["node_medians_gbps"].push_back(median_of(values));
  for (const PairReading& one : alone_)
    evidence["measured_again"].push_back(
        {{"nodes", to_json(one.pair)}, {"alone_gbps", one.busbw_gbps}, {"alone_us", one.latency_us}});
  if (bandwidth_.kept_at_once > 0) evidence["kept_at_once"] = bandwidth_.kept_at_once;
  if (json odd = odd_transports(); !odd.empty()) evidence["other_transports"] = std::move(odd);
  if (nodes <= most_shown_nodes) {
    evidence["node_matrix_gbps"] = std::move(gbps);
    evidence["node_matrix_us"] = std::move(us);
  }
  return evidence;
}

void require_nodes(const Options& options) {
  if (options.nodes < 2)
    throw kernels::unsupported("there is one node only, no network to measure",
                               "start it on several nodes with a launcher (docs/many-nodes.md)");
}

// Enough that the pair is busy for milliseconds, and little enough that a sweep of many pairs is over soon.
std::size_t link_bytes(kernels::Platform& platform, const Options& options) {
  const std::span<kernels::Device* const> ranks = platform.ranks();
  const std::size_t wanted = std::size_t{1} << (is_gpu(platform) ? 29 : 23);
  const std::size_t limit = memory_limit(*ranks[0], is_gpu(platform) ? 1 : ranks.size(), options.max_bytes) / 4;
  return std::max<std::size_t>(4096, std::min(wanted, limit) / 4096 * 4096);
}

}  // namespace claimcheck::bench
