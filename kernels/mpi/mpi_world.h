// The processes of a run, connected over MPI. Every operation is non-blocking and tested until its deadline, so that a
// process that died or hangs ends the run with a sentence instead of keeping it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/launch.h"
#include "kernels/mpi/calls.h"

namespace claimcheck::kernels {

class MpiWorld final : public World {
 public:
  MpiWorld(const ClaimcheckMpi& mpi, const Launch& launch, Duration deadline);
  ~MpiWorld() override;  // ends MPI when all come to it in time; else the end of the process does

  int process() const override { return process_; }
  int processes() const override { return processes_; }
  int nodes() const override { return static_cast<int>(hosts_.size()); }
  int node_of(int process) const override { return nodes_[static_cast<std::size_t>(process)]; }
  int local_process() const override { return local_process_; }
  int local_processes() const override { return local_processes_; }
  Facts facts() const override;

  void broadcast(std::span<std::byte> data) override;
  double max(double value) override;
  void barrier() override;
  std::vector<std::string> gather(const std::string& mine) override;
  PhaseReports end_phase(std::optional<std::string> failure) override;
  bool exchange(const Exchange& what, const std::function<bool()>& give_up) override;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Call { max, broadcast, barrier, gather, end_phase };

  struct Meeting {
    double value = 0;
    bool failed = false;
  };

  void start(const Launch& launch);
  void find_nodes();
  // What every call begins with, always the same operation of MPI, so that processes that are at different calls notice
  // it instead of mixing their messages. The maximum of `value`; whether a process failed.
  Meeting meet(Call call, double value, bool failed);
  std::vector<std::string> all_texts(const std::string& mine, double longest);
  PhaseReports exchange_reports(const std::optional<std::string>& failure);
  [[noreturn]] void throw_reports();
  void leave_time_to_process_0() const;

  template <class Begin>
  ClaimcheckMpiRequest begin(Begin begin);
  bool done(ClaimcheckMpiRequest& request);
  void wait(ClaimcheckMpiRequest request, Clock::time_point end);
  void check(int code);
  void check_alive() const;
  [[noreturn]] void give_up_waiting();
  std::string who_is_missing();

  const ClaimcheckMpi& mpi_;
  Duration deadline_;
  std::mutex mutex_;  // MPI is entered by one thread at a time
  std::atomic<bool> dead_{false};
  std::string library_;
  int process_ = 0;
  int processes_ = 1;
  int local_process_ = 0;
  int local_processes_ = 1;
  std::vector<int> nodes_ = {0};           // of each process
  std::vector<std::string> hosts_ = {""};  // of each node
};

}  // namespace claimcheck::kernels
