// A part of a world, over the messages of the whole: MPI splits a communicator only by a call that waits for every
// process without end, and what is asked of a part is small.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "kernels/device.h"

namespace claimcheck::kernels {

namespace {

constexpr int part_tag = 32766;  // groups take the low ones, MpiWorld the largest that every MPI has

Error mistake(std::string text) {
  return Error(
      {.outcome = Outcome::failed, .library = "claimcheck", .code = {}, .text = std::move(text), .remedy = {}});
}

class PartWorld final : public World {
 public:
  PartWorld(World& whole, std::vector<int> members, Duration deadline)
      : whole_(whole), members_(std::move(members)), deadline_(deadline) {
    const auto mine = std::find(members_.begin(), members_.end(), whole.process());
    if (mine == members_.end()) throw mistake("a process makes a part of the world that it is not in");
    process_ = static_cast<int>(mine - members_.begin());
    std::vector<int> seen;
    for (const int member : members_) {
      const int node = whole.node_of(member);
      const auto known = std::find(seen.begin(), seen.end(), node);
      nodes_.push_back(static_cast<int>(known - seen.begin()));
      if (known == seen.end()) seen.push_back(node);
    }
    node_count_ = static_cast<int>(seen.size());
  }

  int process() const override { return process_; }
  int processes() const override { return static_cast<int>(members_.size()); }
  int nodes() const override { return node_count_; }
  int node_of(int process) const override { return nodes_[static_cast<std::size_t>(process)]; }
  int local_process() const override {
    return static_cast<int>(std::count(nodes_.begin(), nodes_.begin() + process_, node()));
  }
  int local_processes() const override { return static_cast<int>(std::count(nodes_.begin(), nodes_.end(), node())); }
  Facts facts() const override { return whole_.facts(); }

  void broadcast(std::span<std::byte> data) override {
    if (process_ != 0) return receive(0, data);
    for (int other = 1; other < processes(); ++other) send(other, data);
  }

  double max(double value) override {
    std::string mine(sizeof value, '\0');
    std::memcpy(mine.data(), &value, sizeof value);
    double most = value;
    for (const std::string& text : gather(mine)) {
      double theirs = 0;
      std::memcpy(&theirs, text.data(), sizeof theirs);
      most = std::max(most, theirs);
    }
    return most;
  }

  void barrier() override { gather({}); }

  // To process 0 and back.
  std::vector<std::string> gather(const std::string& mine) override {
    std::vector<std::string> all(members_.size());
    all[static_cast<std::size_t>(process_)] = mine;
    if (process_ != 0) {
      send_text(0, mine);
      for (std::string& text : all) text = receive_text(0);
      return all;
    }
    for (int other = 1; other < processes(); ++other) all[static_cast<std::size_t>(other)] = receive_text(other);
    for (int other = 1; other < processes(); ++other)
      for (const std::string& text : all) send_text(other, text);
    return all;
  }

  PhaseReports end_phase(std::optional<std::string> failure) override {
    PhaseReports reports;
    for (const std::string& text : gather(failure ? "!" + *failure : ""))
      reports.push_back(text.empty() ? std::nullopt : std::optional(text.substr(1)));
    const bool none = std::none_of(reports.begin(), reports.end(), [](const auto& one) { return one.has_value(); });
    return none ? PhaseReports{} : reports;
  }

  bool exchange(const Exchange& what, const std::function<bool()>& give_up) override {
    Exchange in_whole = what;
    in_whole.to = members_[static_cast<std::size_t>(what.to)];
    in_whole.from = members_[static_cast<std::size_t>(what.from)];
    return whole_.exchange(in_whole, give_up);
  }

 private:
  void send_text(int to, const std::string& text) {
    const std::uint64_t size = text.size();
    send(to, std::as_bytes(std::span(&size, 1)));
    send(to, std::as_bytes(std::span(text)));
  }

  std::string receive_text(int from) {
    std::uint64_t size = 0;
    receive(from, std::as_writable_bytes(std::span(&size, 1)));
    std::string text(size, '\0');
    receive(from, std::as_writable_bytes(std::span(text)));
    return text;
  }

  void send(int to, std::span<const std::byte> data) {
    meet({.to = to, .out = data, .out_tag = part_tag, .from = to, .in = {}, .in_tag = part_tag}, to);
  }

  void receive(int from, std::span<std::byte> data) {
    meet({.to = from, .out = {}, .out_tag = part_tag, .from = from, .in = data, .in_tag = part_tag}, from);
  }

  void meet(const Exchange& what, int other) {
    if (what.out.empty() && what.in.empty()) return;
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(deadline_);
    if (exchange(what, [end] { return std::chrono::steady_clock::now() > end; })) return;
    const int process = members_[static_cast<std::size_t>(other)];
    throw Error({.outcome = Outcome::timed_out,
                 .library = "claimcheck",
                 .code = {},
                 .text = fmt::format("process {} on node {} did not come within {:g} s", process,
                                     whole_.node_of(process), deadline_.count()),
                 .remedy = "that process hangs or is much slower than the others: see what its node does",
                 .context_dead = true});
  }

  World& whole_;
  std::vector<int> members_;  // processes of the whole
  Duration deadline_;
  int process_ = 0;
  int node_count_ = 1;
  std::vector<int> nodes_;  // of each process
};

}  // namespace

std::unique_ptr<World> part_of(World& whole, std::vector<int> members, Duration deadline) {
  return std::make_unique<PartWorld>(whole, std::move(members), deadline);
}

}  // namespace claimcheck::kernels
