#include "bench/nic_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <memory>
#include <thread>

#include "bench/child_process.h"
#include "bench/rail_run.h"

namespace claimcheck::bench {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int first_tcp_port = 18515;  // perftest's own choice
// Between two tries to reach a server that has not opened its port yet.
constexpr std::chrono::milliseconds between_tries{100};

// Several pairs may be on one machine, in containers or tests.
int tcp_port_of(const NodePair& nodes) { return first_tcp_port + nodes.first % 40000; }

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

json to_json(const std::vector<RdmaPort>& ports) {
  json list = json::array();
  for (const RdmaPort& port : ports) list.push_back({port.device, port.port, port.fabric, port.line_gbit_s});
  return list;
}

std::vector<RdmaPort> ports_from(const json& list) {
  std::vector<RdmaPort> ports;
  for (const json& one : list) ports.push_back({one[0], one[1], one[2], one[3]});
  return ports;
}

// The other side of a client; killed, and its thread joined, when this goes.
class Server {
 public:
  Server(std::vector<std::string> arguments, kernels::Duration deadline)
      : thread_([this, arguments = std::move(arguments), deadline](const std::stop_token& stop) {
          try {
            const ProgramResult result = run_program(arguments, deadline, stop);
            constexpr int killed = 128 + SIGKILL;
            if (result.exit_code != 0 && result.exit_code != killed)
              failure_ = perftest_complaint(result.output, result.errors);
          } catch (const kernels::Error& error) {
            failure_ = error.what();
          }
        }) {}
  // What it complained of. `kill`: its client will not come, or not go on.
  std::string end(bool kill) {
    if (kill) thread_.request_stop();
    thread_.join();
    return failure_;
  }

 private:
  std::string failure_;
  std::jthread thread_;  // last: it uses the other
};

}  // namespace

NicRun::NicRun(Setting& setting, const std::vector<std::string>& fabrics) : setting_(setting) {
  kernels::World& world = setting.world;
  std::vector<RdmaPort> mine;
  if (world.local_process() == 0)
    for (const RdmaPort& port : rdma_ports(system_root()))
      if (std::find(fabrics.begin(), fabrics.end(), port.fabric) != fabrics.end()) mine.push_back(port);
  const json own = {{"host", host_name()}, {"ports", to_json(mine)}};
  std::vector<std::vector<RdmaPort>> ports_of_node(static_cast<std::size_t>(world.nodes()));
  hosts_.resize(ports_of_node.size());
  const std::vector<std::string> all = world.gather(own.dump(-1, ' ', false, json::error_handler_t::replace));
  for (int process = world.processes() - 1; process >= 0; --process) {  // the first of a node has the last word
    const auto node = static_cast<std::size_t>(world.node_of(process));
    const json theirs = json::parse(all[static_cast<std::size_t>(process)]);
    hosts_[node] = theirs["host"];
    ports_of_node[node] = ports_from(theirs["ports"]);
  }
  std::size_t fewest = SIZE_MAX;
  for (std::size_t node = 0; node < ports_of_node.size(); ++node) {
    if (ports_of_node[node].empty())
      throw kernels::unsupported(fmt::format("node {} has no active {} port", node, fmt::join(fabrics, " or ")),
                                 "see /sys/class/infiniband there");
    fewest = std::min(fewest, ports_of_node[node].size());
  }
  find_links(ports_of_node, fewest);
}

void NicRun::find_links(const std::vector<std::vector<RdmaPort>>& ports_of_node, std::size_t count) {
  const std::vector<std::vector<NodePair>> rounds = rail_rounds(setting_.world.nodes());
  rounds_ = rounds.size();
  ports_ = count;
  for (std::size_t round = 0; round < rounds_; ++round)
    for (const NodePair& nodes : rounds[round])
      for (std::size_t port = 0; port < count; ++port) {
        Link link;
        link.nodes = nodes;
        link.round = round;
        link.first = ports_of_node[static_cast<std::size_t>(nodes.first)][port];
        link.second = ports_of_node[static_cast<std::size_t>(nodes.second)][port];
        links_.push_back(std::move(link));
      }
}

// The server of a client that comes too early does not answer yet.
double NicRun::as_client(RdmaTest test, const Link& link) {
  const std::string& server = hosts_[static_cast<std::size_t>(link.nodes.first)];
  const bool same = server == hosts_[static_cast<std::size_t>(link.nodes.second)];
  const std::vector<std::string> arguments =
      perftest_arguments(test, link.second, tcp_port_of(link.nodes), same ? "127.0.0.1" : server);
  const kernels::Duration whole(setting_.options.deadline_seconds);
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(whole);
  const Clock::time_point last_try =
      Clock::now() + std::min<Clock::duration>(std::chrono::seconds(5), (end - Clock::now()) / 4);
  for (;;) {
    const ProgramResult result = run_program(arguments, kernels::Duration(end - Clock::now()));
    const bool unreached = result.exit_code != 0 && (result.output + result.errors).find("onnect") != std::string::npos;
    if (!unreached || Clock::now() > last_try)
      return parse_perftest(test, result.exit_code, result.output, result.errors);
    std::this_thread::sleep_for(between_tries);
  }
}

// {"value"} from the client; {"failure", "unsupported"} from either.
json NicRun::attempt(RdmaTest test, const Link& link) {
  const bool client = setting_.world.node() == link.nodes.second;
  try {
    if (client) return {{"value", as_client(test, link)}};
  } catch (const kernels::Error& error) {
    return {{"failure", error.what()}, {"unsupported", error.detail().outcome == kernels::Outcome::unsupported}};
  }
  return nullptr;
}

// Where this process is the first of its node, and the link did not fail before.
std::optional<std::size_t> NicRun::own_link(std::size_t round, std::size_t number) const {
  const int node = setting_.world.node();
  for (std::size_t i = number; i < links_.size(); i += ports_)
    if (links_[i].round == round && (links_[i].nodes.first == node || links_[i].nodes.second == node) &&
        setting_.world.local_process() == 0 && !failures_.contains(i))
      return i;
  return std::nullopt;
}

void NicRun::take(const json& outcome, double Link::*figure) {
  const auto position = outcome["link"].get<std::size_t>();
  Link& link = links_[position];
  if (outcome.contains("value")) {
    link.*figure = outcome["value"];
    return;
  }
  link.*figure = 0;
  const auto failure = outcome["failure"].get<std::string>();
  if (outcome["unsupported"].get<bool>()) unsupported_ = failure;
  failures_.emplace(
      position, fmt::format("{} port {} of node {} to {} port {} of node {}: {}", link.second.device, link.second.port,
                            link.nodes.second, link.first.device, link.first.port, link.nodes.first, failure));
}

// The n-th ports of all pairs of a round; others wait for the outcome.
void NicRun::measure(RdmaTest test, std::size_t round, std::size_t number, double Link::*figure) {
  kernels::World& world = setting_.world;
  const std::optional<std::size_t> own = own_link(round, number);
  std::unique_ptr<Server> server;
  if (own && links_[*own].nodes.first == world.node())
    server = std::make_unique<Server>(perftest_arguments(test, links_[*own].first, tcp_port_of(links_[*own].nodes), {}),
                                      kernels::Duration(setting_.options.deadline_seconds));
  world.barrier();
  json outcome = own ? attempt(test, links_[*own]) : json();
  if (!outcome.is_null()) outcome["link"] = *own;
  const std::size_t before = failures_.size();
  for (const std::string& text : world.gather(outcome.dump(-1, ' ', false, json::error_handler_t::replace)))
    if (const json theirs = json::parse(text); !theirs.is_null()) take(theirs, figure);
  json complaint;
  if (server) {
    const std::string said = server->end(failures_.contains(*own));
    if (!said.empty()) complaint = {{"link", *own}, {"said", said}};
  }
  if (failures_.size() == before) return;
  for (const std::string& text : world.gather(complaint.dump(-1, ' ', false, json::error_handler_t::replace)))
    if (const json theirs = json::parse(text); !theirs.is_null())
      if (const auto found = failures_.find(theirs["link"].get<std::size_t>()); found != failures_.end())
        found->second += "; the other side: " + theirs["said"].get<std::string>();
}

Iteration NicRun::iterate() {
  const Clock::time_point start = Clock::now();
  failures_.clear();
  for (std::size_t round = 0; round < rounds_; ++round)
    for (std::size_t number = 0; number < ports_; ++number) {
      measure(RdmaTest::write, round, number, &Link::write_gbps);
      if (!first_time_) continue;
      measure(RdmaTest::read, round, number, &Link::read_gbps);
      measure(RdmaTest::send_latency, round, number, &Link::latency_us);
    }
  first_time_ = false;
  if (!unsupported_.empty()) throw kernels::unsupported(unsupported_);
  if (!failures_.empty())
    throw kernels::Error({.outcome = kernels::Outcome::failed,
                          .library = "perftest",
                          .code = {},
                          .text = fmt::format("{} of {} ports could not be measured: {}", failures_.size(),
                                              links_.size(), failures_.begin()->second),
                          .remedy = {}});
  Iteration iteration;
  iteration.seconds = setting_.world.max(std::chrono::duration<double>(Clock::now() - start).count());
  return iteration;
}

void NicRun::verify() const {
  for (const Link& link : links_) {
    const double line = std::min(link.first.line_gbit_s, link.second.line_gbit_s) / 8;
    for (const double gbps : {link.write_gbps, link.read_gbps}) {
      if (gbps > 0 && (line == 0 || gbps <= 1.02 * line)) continue;
      throw kernels::wrong_result(
          fmt::format("perftest's {:.4g} GB/s of {} port {} of node {} cannot be: the line has {:.4g}", gbps,
                      link.second.device, link.second.port, link.nodes.second, line));
    }
  }
}

void NicRun::spoil() { links_.back().write_gbps = 0; }

double NicRun::slowest_write_gbps() const {
  double slowest = links_.front().write_gbps;
  for (const Link& link : links_) slowest = std::min(slowest, link.write_gbps);
  return slowest;
}

double NicRun::slowest_read_gbps() const {
  double slowest = links_.front().read_gbps;
  for (const Link& link : links_) slowest = std::min(slowest, link.read_gbps);
  return slowest;
}

double NicRun::largest_latency_us() const {
  double largest = 0;
  for (const Link& link : links_) largest = std::max(largest, link.latency_us);
  return largest;
}

json NicRun::evidence() const {
  json ports = json::array();
  std::vector<double> rates;
  for (const Link& link : links_) {
    ports.push_back({{"nodes", {link.nodes.first, link.nodes.second}},
                     {"devices", {link.first.device, link.second.device}},
                     {"ports", {link.first.port, link.second.port}},
                     {"line_gbit_s", link.first.line_gbit_s > 0 ? json(link.first.line_gbit_s) : json()},
                     {"write_gbps", link.write_gbps},
                     {"read_gbps", link.read_gbps},
                     {"latency_us", link.latency_us}});
    rates.push_back(link.write_gbps);
  }
  std::string verdict;
  for (const std::size_t slow : slow_ones(rates, least_drop_of_bandwidth)) {
    const Link& link = links_[slow];
    verdict += fmt::format("{}{} of node {} to {} of node {} is slow ({:.3g} GB/s)", verdict.empty() ? "" : "; ",
                           link.second.device, link.nodes.second, link.first.device, link.nodes.first, rates[slow]);
  }
  if (verdict.empty()) verdict = "all adapters are alike";
  return {{"verdict", verdict}, {"adapters", ports}};
}

json NicRun::conditions() const {
  return {{"fabric", links_.front().first.fabric},
          {"memory", "host"},
          {"statistic", links_.front().first.fabric == "efa" ? "one adapter" : "each port"},
          {"bytes", perftest_message_bytes},
          {"messages", perftest_iterations},
          {"ranks", 2}};
}

}  // namespace claimcheck::bench
