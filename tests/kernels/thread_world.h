// Several processes of a run played by threads of one: what groups need of a world, without MPI.
#pragma once

#include <algorithm>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::kernels::test {

// What the players share.
struct Stage {
  Stage(std::vector<int> the_nodes)
      : nodes(std::move(the_nodes)), texts(nodes.size()), together(static_cast<std::ptrdiff_t>(nodes.size())) {}

  std::vector<int> nodes;  // of each process
  std::vector<std::string> texts;
  std::barrier<> together;
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> mail;  // from, to, tag
};

class ThreadWorld final : public World {
 public:
  ThreadWorld(Stage& stage, int process) : stage_(stage), process_(process) {}

  int process() const override { return process_; }
  int processes() const override { return static_cast<int>(stage_.nodes.size()); }
  int node_of(int process) const override { return stage_.nodes[static_cast<std::size_t>(process)]; }
  int nodes() const override { return *std::max_element(stage_.nodes.begin(), stage_.nodes.end()) + 1; }
  int local_process() const override {
    int before = 0;
    for (int other = 0; other < process_; ++other) before += node_of(other) == node() ? 1 : 0;
    return before;
  }
  int local_processes() const override {
    int all = 0;
    for (int other = 0; other < processes(); ++other) all += node_of(other) == node() ? 1 : 0;
    return all;
  }

  void barrier() override { stage_.together.arrive_and_wait(); }

  std::vector<std::string> gather(const std::string& mine) override {
    stage_.texts[static_cast<std::size_t>(process_)] = mine;
    barrier();
    std::vector<std::string> all = stage_.texts;
    barrier();
    return all;
  }

  double max(double value) override {
    double most = value;
    for (const std::string& text : gather(std::to_string(value))) most = std::max(most, std::stod(text));
    return most;
  }

  bool exchange(const Exchange& what, const std::function<bool()>& give_up) override {
    std::unique_lock lock(stage_.mutex);
    if (!what.out.empty()) {
      stage_.mail[{process_, what.to, what.out_tag}].emplace_back(what.out.begin(), what.out.end());
      stage_.arrived.notify_all();
    }
    if (what.in.empty()) return true;
    auto& box = stage_.mail[{what.from, process_, what.in_tag}];
    while (box.empty()) {
      if (give_up()) return false;
      stage_.arrived.wait_for(lock, std::chrono::milliseconds(1));
    }
    if (box.front().size() != what.in.size()) throw std::logic_error("a message of another size arrived");
    std::memcpy(what.in.data(), box.front().data(), what.in.size());
    box.pop_front();
    return true;
  }

 private:
  Stage& stage_;
  int process_;
};

// Calls play(world) for every process at once, one thread each.
template <class Play>
void play_processes(const std::vector<int>& nodes, const Play& play) {
  Stage stage(nodes);
  std::vector<std::jthread> threads;
  for (std::size_t process = 0; process < nodes.size(); ++process)
    threads.emplace_back([&stage, &play, process] {
      ThreadWorld world(stage, static_cast<int>(process));
      play(world);
    });
}

}  // namespace claimcheck::kernels::test
