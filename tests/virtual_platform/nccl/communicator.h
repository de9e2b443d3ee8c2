// Who takes part in which communicator, and which collective each rank is at. Bookkeeping only: memory and time are in
// collective.h, GPUs in the engine. All ranks are in this process; an implementation over several would exchange joins
// and requests here.
#pragma once

#include <nccl.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/virtual_platform/nccl/collective.h"

namespace virtual_platform::nccl {

// What all ranks of one communicator share.
class Clique {
 public:
  Clique(std::uint64_t identifier, int ranks) : identifier_(identifier), ranks_(ranks), devices_(ranks, -1) {}

  // Each rank joins once; false: somebody has that rank already.
  bool join(int rank, int device);
  bool complete() const { return joined_ == ranks_; }
  void wait_until_complete(std::unique_lock<std::mutex>& lock);

  // The rank's request becomes part of the collective it is at, and goes on its stream.
  ncclResult_t enqueue(int rank, Request request, Stream& stream);
  // Ends what has not started, without effect.
  void abort();

  std::uint64_t identifier() const { return identifier_; }
  int ranks() const { return ranks_; }
  int device(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }
  ncclResult_t error = ncclSuccess;  // asynchronous, seen by all ranks

 private:
  // A collective some ranks have asked for and others have not.
  struct Collective {
    std::vector<Request> requests;
    int arrived = 0;
    std::shared_ptr<Meeting> meeting = std::make_shared<Meeting>();
  };

  std::uint64_t identifier_;
  int ranks_;
  int joined_ = 0;
  std::vector<int> devices_;
  std::vector<std::uint64_t> position_;  // of each rank, in the sequence of collectives
  std::map<std::uint64_t, Collective> open_;
  std::vector<std::weak_ptr<Meeting>> meetings_;
  std::condition_variable changed_;
};

// Guards all cliques. Taken before the engine's.
std::mutex& clique_mutex();

// That of a unique id, made by whoever comes first.
std::shared_ptr<Clique> clique_of(const ncclUniqueId& id, int ranks);
ncclUniqueId make_unique_id();

// An NCCL communicator: one rank's view.
struct Communicator {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int device = 0;
  bool connected = false;  // has done a collective: NCCL connects at the first one
};

}  // namespace virtual_platform::nccl

struct ncclComm : virtual_platform::nccl::Communicator {};
