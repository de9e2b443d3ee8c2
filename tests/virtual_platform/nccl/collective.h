// What collectives do to memory and how long they take; knows nothing of communicators.
#pragma once

#include <nccl.h>

#include <memory>
#include <string_view>
#include <vector>

#include "tests/virtual_platform/engine/stream.h"

namespace virtual_platform::nccl {

enum class Function { all_reduce, all_gather, reduce_scatter, broadcast, point_to_point };

std::string_view call_name(Function function);  // "ncclAllReduce"
std::string_view log_name(Function function);   // "AllReduce", as NCCL's log says it

// One send or receive of a rank.
struct Message {
  bool is_send = false;
  int peer = 0;
  void* buffer = nullptr;
  std::size_t bytes = 0;
};

// What one rank asked for. `count` is in elements, as NCCL counts it for the function.
struct Request {
  Function function = Function::all_reduce;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  int root = 0;
  std::vector<Message> messages;  // of a group of point-to-point calls, in order
  int node = 0;
  bool is_here = true;  // else of another process: what it sends can be read, nothing can be written
};

std::size_t element_bytes(ncclDataType_t type);        // 0: no such type
bool agree(const Request& one, const Request& other);  // all ranks must ask for the same

// Of what `rank` gives to a collective of all; 0 for point_to_point, and where only the root sends.
std::size_t sent_bytes(const Request& request, int rank, int ranks);

// Of this process's ranks together, `requests` of all by rank.
std::shared_ptr<const Footprint> footprint_of(const std::vector<Request>& requests);
// Works on accessible addresses; sums are made in rank order, in double, and rounded once.
void execute(const std::vector<Request>& requests);
// alpha + steps x step + bytes over the bus / bus bandwidth; between nodes see network_bus_gbps() in collective.cpp.
double seconds_of(const std::vector<Request>& requests);
std::uint64_t identity_of(const std::vector<Request>& requests);

// Bytes NCCL names in its log: those of the count it was called with.
std::size_t logged_bytes(const Request& request);

}  // namespace virtual_platform::nccl
