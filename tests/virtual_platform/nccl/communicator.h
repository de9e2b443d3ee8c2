// Who takes part in which communicator, and which collective each rank is at. Bookkeeping only: memory and time are in
// collective.h, GPUs in the engine, ranks of other processes behind link.h.
#pragma once

#include <nccl.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/virtual_platform/nccl/collective.h"
#include "tests/virtual_platform/nccl/link.h"

namespace virtual_platform::nccl {

// What all ranks of one communicator share.
class Clique {
 public:
  Clique(const LinkPlace& place, int ranks) : place_(place), ranks_(ranks), devices_(ranks, -1) {}

  // Each rank joins once; false: somebody has that rank already.
  bool join(int rank, int device);
  bool complete() const { return joined_ == ranks_ || (link_ && link_->complete()); }
  // Ranks that do not come from this process may come from others.
  ncclResult_t wait_until_complete(std::unique_lock<std::mutex>& lock);

  // The rank's request becomes part of the collective it is at, and goes on its stream.
  ncclResult_t enqueue(int rank, Request request, Stream& stream);
  // Ends what has not started, without effect.
  void abort();

  std::uint64_t identifier() const { return place_.identifier; }
  int ranks() const { return ranks_; }
  int machine_index(int rank) const;  // of its GPU, on its node
  int node(int rank) const { return link_ ? link_->node(rank) : this_node(); }
  ncclResult_t error();  // asynchronous, seen by all ranks

 private:
  // A collective some ranks have asked for and others have not.
  struct Collective {
    std::vector<Request> requests;
    int arrived = 0;
    std::shared_ptr<Meeting> meeting = std::make_shared<Meeting>();
  };

  bool link_up();
  // All ranks of this process have asked for it.
  void complete_collective(std::uint64_t number, Collective& collective);

  LinkPlace place_;
  std::shared_ptr<Link> link_;  // null: all ranks are in this process
  ncclResult_t error_ = ncclSuccess;
  int ranks_;
  int joined_ = 0;
  std::vector<int> devices_;
  std::vector<std::uint64_t> position_;  // of each rank, in the sequence of collectives
  std::vector<bool> linked_;             // of each rank: it has joined the link
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
