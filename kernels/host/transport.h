// How the ranks of a group reach each other: within one process, between processes of one node, between nodes.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "kernels/device.h"
#include "kernels/host/operation.h"

namespace claimcheck::kernels::host {

class Transport {
 public:
  virtual ~Transport() = default;
  // Does the part of one local rank, in the thread of its stream. Throws timed_out when the operation is given up.
  virtual void take_part(Operation& operation, int local, const std::stop_token& closing) = 0;
  // Lets ranks that wait in other processes give up as well.
  virtual void abort() {}
  virtual Facts facts() const = 0;  // algorithm, transport
};

// Where the ranks of a group are: how many each process has, in process order.
struct Layout {
  std::vector<int> ranks_of;  // of each process
  int process = 0;

  int ranks() const;
  int first_rank() const { return first_rank_of(process); }
  int first_rank_of(int which) const;
  int local_ranks() const { return ranks_of[static_cast<std::size_t>(process)]; }
};

std::unique_ptr<Transport> make_thread_transport();
// All processes of the world are on one node. Called by all at once; throws with the remedy when there is not enough
// shared memory.
std::unique_ptr<Transport> make_node_transport(const Layout& layout, World& world);
std::unique_ptr<Transport> make_message_transport(const Layout& layout, World& world);

}  // namespace claimcheck::kernels::host
