// One communicator's ranks in several processes of this machine. They share an anonymous file of the process that made
// the unique id, which others open through /proc, so that nothing is left when all are gone, however they went. Nothing
// here waits.
//
// Collectives are gone through one by one. A process *enters* collective k when all its ranks are at it and every other
// process is done with k - 1: only then may it put its own requests, time and data where they read. When all have
// entered, each computes what its own ranks receive, and is *done*. Data that no process has changed since the same
// collective before are neither copied nor computed again.
//
// Virtual clocks of processes have nothing in common. What is compared is how long after its call each process could
// start: the call of a collective is taken to be the same moment in all processes. The collective starts that long
// after the call as the last process needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/virtual_platform/nccl/collective.h"

namespace virtual_platform::nccl {

constexpr int most_ranks = 64;

struct SharedPages;  // link.cpp

// Where the shared file of a unique id is: part of the id.
struct LinkPlace {
  std::uint64_t identifier = 0;
  std::int32_t process = 0;
  std::int32_t file = 0;
};
LinkPlace make_link_place(std::uint64_t identifier);
void forget_link_place(const LinkPlace& place);  // all ranks are in one process

class Link : public std::enable_shared_from_this<Link> {
 public:
  // Null when the shared file is not there: the process that made it has died.
  static std::shared_ptr<Link> open(const LinkPlace& place, int ranks);
  ~Link();  // leaves: it is not missed as one that died
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  bool join(int rank, int machine_index);  // false: somebody has that rank
  bool complete() const;
  int machine_index(int rank) const;
  int node(int rank) const;

  // `requests` by rank; those of this process are here. The collectives of a communicator are numbered from 0.
  std::shared_ptr<Elsewhere> take_part(std::uint64_t number, std::vector<Request> requests);

  void raise_error();  // an asynchronous one, which all processes see
  // Whether one was raised or a process died.
  bool is_broken();

 private:
  class Part;

  Link() = default;
  bool all_done(std::uint64_t number) const;
  bool all_entered(std::uint64_t number) const;
  bool has_died(int place) const;
  void publish(const Part& part, const Elsewhere::Start& start);
  bool has_changed(const Part& part);
  void publish_data(const Request& request, int rank);
  std::vector<Request> gathered(const std::vector<Request>& mine) const;
  std::byte* area(int rank) const;

  SharedPages* pages_ = nullptr;
  std::size_t bytes_ = 0;
  LinkPlace place_;
  int file_ = -1;
  int ranks_ = 0;
  int mine_ = 0;  // among the processes of the file
  std::uint64_t last_identity_ = 0;
  std::shared_ptr<WriteWatch> watch_;
  std::chrono::steady_clock::time_point looked_;
};

}  // namespace virtual_platform::nccl
