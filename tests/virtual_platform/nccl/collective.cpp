#include "tests/virtual_platform/nccl/collective.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "kernels/data_type.h"
#include "tests/virtual_platform/engine/identity.h"

namespace virtual_platform::nccl {
namespace {

using claimcheck::kernels::DataType;

std::optional<DataType> data_type(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return DataType::int8;
    case ncclInt32:
      return DataType::int32;
    case ncclFloat16:
      return DataType::fp16;
    case ncclFloat32:
      return DataType::fp32;
    case ncclFloat64:
      return DataType::fp64;
    case ncclBfloat16:
      return DataType::bf16;
    default:
      return std::nullopt;
  }
}

std::size_t bytes_of(const Request& request, std::size_t elements) { return elements * element_bytes(request.type); }

std::byte* at(const void* start, std::size_t offset) {
  return static_cast<std::byte*>(accessible(const_cast<void*>(start))) + offset;
}

bool shares_by_rank(Function function) {
  return function == Function::all_gather || function == Function::reduce_scatter;
}

// Elements of the buffers of one rank.
std::size_t sent_elements(const Request& request, std::size_t ranks) {
  return request.function == Function::reduce_scatter ? request.count * ranks : request.count;
}
std::size_t received_elements(const Request& request, std::size_t ranks) {
  return request.function == Function::all_gather ? request.count * ranks : request.count;
}

// Of `count` elements of all ranks' send buffers, from element `first`. A few at a time, so that it needs no memory.
void sum_into(const std::vector<Request>& requests, std::size_t first, std::size_t count,
              const std::vector<std::byte*>& targets) {
  constexpr std::size_t piece = 4096;
  const DataType type = *data_type(requests[0].type);
  const std::size_t size = element_bytes(requests[0].type);
  std::vector<std::byte> stored(piece * size);
  for (std::size_t done = 0; done < count; done += piece) {
    const std::size_t length = std::min(piece, count - done);
    std::vector<double> sums(length);
    for (const Request& request : requests) {
      const std::span<const std::byte> source(at(request.send, (first + done) * size), length * size);
      const std::vector<double> values = claimcheck::kernels::decode(type, source, length);
      for (std::size_t i = 0; i < length; i++) sums[i] += values[i];
    }
    claimcheck::kernels::encode(type, sums, std::span(stored).first(length * size));
    for (std::byte* target : targets) std::memcpy(target + done * size, stored.data(), length * size);
  }
}

void all_reduce(const std::vector<Request>& requests) {
  std::vector<std::byte*> targets;
  for (const Request& request : requests)
    if (request.is_here) targets.push_back(at(request.receive, 0));
  sum_into(requests, 0, requests[0].count, targets);
}

// In place, a rank's output overlaps its input, but only its own share of it, which no other rank reads.
void reduce_scatter(const std::vector<Request>& requests) {
  for (std::size_t rank = 0; rank < requests.size(); rank++)
    if (requests[rank].is_here)
      sum_into(requests, rank * requests[rank].count, requests[rank].count, {at(requests[rank].receive, 0)});
}

void all_gather(const std::vector<Request>& requests) {
  for (std::size_t source = 0; source < requests.size(); source++) {
    const std::size_t bytes = bytes_of(requests[source], requests[source].count);
    for (const Request& target : requests)
      if (target.is_here) std::memmove(at(target.receive, source * bytes), at(requests[source].send, 0), bytes);
  }
}

void broadcast(const std::vector<Request>& requests) {
  const Request& root = requests[static_cast<std::size_t>(requests[0].root)];
  for (const Request& target : requests)
    if (target.is_here) std::memmove(at(target.receive, 0), at(root.send, 0), bytes_of(root, root.count));
}

// The n-th send from one rank to another belongs to the other's n-th receive from it. All sends are read before
// anything is written, so that one buffer may serve both.
void exchange(const std::vector<Request>& requests) {
  std::vector<std::vector<std::byte>> taken;
  std::vector<std::pair<void*, std::size_t>> targets;  // where, and which of `taken`
  for (std::size_t receiver = 0; receiver < requests.size(); receiver++) {
    if (!requests[receiver].is_here) continue;
    std::vector<std::size_t> met(requests.size());
    for (const Message& receive : requests[receiver].messages) {
      if (receive.is_send) continue;
      std::size_t left = met[static_cast<std::size_t>(receive.peer)]++;
      for (const Message& send : requests[static_cast<std::size_t>(receive.peer)].messages) {
        if (!send.is_send || send.peer != static_cast<int>(receiver) || left-- > 0) continue;
        const std::byte* source = at(send.buffer, 0);
        targets.emplace_back(receive.buffer, taken.size());
        taken.emplace_back(source, source + std::min(send.bytes, receive.bytes));
        break;
      }
    }
  }
  for (const auto& [target, which] : targets) std::memcpy(at(target, 0), taken[which].data(), taken[which].size());
}

// Of the busiest rank, its own share left out.
double bus_bytes(const std::vector<Request>& requests) {
  const auto ranks = static_cast<double>(requests.size());
  const Request& first = requests[0];
  const auto whole = static_cast<double>(
      bytes_of(first, std::max(sent_elements(first, requests.size()), received_elements(first, requests.size()))));
  if (first.function == Function::all_reduce) return whole * 2 * (ranks - 1) / ranks;
  if (shares_by_rank(first.function)) return whole * (ranks - 1) / ranks;
  if (first.function == Function::broadcast) return ranks > 1 ? whole : 0;
  double most = 0;
  for (std::size_t rank = 0; rank < requests.size(); rank++) {
    double sent = 0;
    for (const Message& message : requests[rank].messages)
      if (message.is_send && message.peer != static_cast<int>(rank)) sent += static_cast<double>(message.bytes);
    most = std::max(most, sent);
  }
  return most;
}

const char* rate_key(const std::vector<Request>& requests) {
  switch (requests[0].function) {
    case Function::all_reduce:
      return "all_reduce";
    case Function::all_gather:
      return "all_gather";
    case Function::reduce_scatter:
      return "reduce_scatter";
    case Function::broadcast:
      return "broadcast";
    case Function::point_to_point:
      break;
  }
  const auto sends = std::count_if(requests[0].messages.begin(), requests[0].messages.end(),
                                   [](const Message& message) { return message.is_send; });
  return sends > 1 ? "all_to_all" : "send_receive";
}

double steps_of(const std::vector<Request>& requests) {
  const auto ranks = static_cast<double>(requests.size());
  const Function function = requests[0].function;
  if (function == Function::point_to_point) return 1;
  const std::string& algorithm = spec().collectives.algorithm;
  if (function == Function::all_reduce) {
    if (algorithm == "nvls") return 2;
    return algorithm == "tree" ? 2 * std::ceil(std::log2(ranks)) : 2 * (ranks - 1);
  }
  return ranks - 1;
}

struct NodesOf {
  int count = 1;
  int ranks = 0;  // of the largest
};

NodesOf nodes_of(const std::vector<Request>& requests) {
  std::map<int, int> ranks;
  for (const Request& request : requests) ranks[request.node]++;
  NodesOf result{static_cast<int>(ranks.size()), 0};
  for (const auto& [node, count] : ranks) result.ranks = std::max(result.ranks, count);
  return result;
}

// Bus bandwidth (as nccl-tests defines it: bus_bytes() by the time) at which the adapters of a node are busy all the
// time. R = their rate together, each way: of all that are near the g GPUs of a node that take part. S = bytes of the
// collective, n = ranks, N = nodes.
//   ring (all-reduce, all-gather, reduce-scatter, broadcast): every byte of a rank's bus passes each node's border
//   once,
//     so R is the limit
//   all-reduce by NVLS trees: nodes exchange sums of their GPUs only, 2 (N - 1) / N S bytes out of a node instead of
//     2 (n - 1) / n S, so R x [(n - 1) / n] / [(N - 1) / N]
//   send/receive to the next rank: one rank of a node sends to another node, by the adapters near it
//   all-to-all: each rank sends (n - g) / n of its S to other nodes, of (n - 1) / n S in all: R / g x (n - 1) / (n - g)
double network_bus_gbps(const std::vector<Request>& requests, const NodesOf& nodes) {
  const Network& network = spec().nodes.network;
  const auto n = static_cast<double>(requests.size());
  const double g = nodes.ranks;
  const double near_each = std::max(1.0, static_cast<double>(network.nics) / static_cast<double>(spec().gpus.size()));
  const double rate = network.nic_gbps * std::min<double>(network.nics, near_each * g);
  const std::string_view key = rate_key(requests);
  if (key == "send_receive") return network.nic_gbps * std::min<double>(network.nics, near_each);
  if (key == "all_to_all") return rate / g * (n - 1) / std::max(1.0, n - g);
  if (key == "all_reduce" && spec().collectives.algorithm == "nvls")
    return rate * ((n - 1) / n) * nodes.count / (nodes.count - 1);
  return rate;
}

}  // namespace

std::string_view call_name(Function function) {
  switch (function) {
    case Function::all_reduce:
      return "ncclAllReduce";
    case Function::all_gather:
      return "ncclAllGather";
    case Function::reduce_scatter:
      return "ncclReduceScatter";
    case Function::broadcast:
      return "ncclBroadcast";
    case Function::point_to_point:
      return "ncclSend";
  }
  return "";
}

std::string_view log_name(Function function) { return call_name(function).substr(4); }

std::size_t element_bytes(ncclDataType_t type) {
  const std::optional<DataType> known = data_type(type);
  return known ? claimcheck::kernels::storage_bytes(*known, 1) : 0;
}

bool agree(const Request& one, const Request& other) {
  return one.function == other.function && one.count == other.count && one.type == other.type &&
         one.operation == other.operation && one.root == other.root;
}

std::size_t sent_bytes(const Request& request, int rank, int ranks) {
  if (request.function == Function::point_to_point) return 0;
  if (request.function == Function::broadcast && rank != request.root) return 0;
  return bytes_of(request, sent_elements(request, static_cast<std::size_t>(ranks)));
}

std::shared_ptr<const Footprint> footprint_of(const std::vector<Request>& requests) {
  auto footprint = std::make_shared<Footprint>();
  for (std::size_t rank = 0; rank < requests.size(); rank++) {
    const Request& request = requests[rank];
    if (!request.is_here) continue;
    for (const Message& message : request.messages)
      (message.is_send ? footprint->reads : footprint->writes).push_back(range(message.buffer, message.bytes));
    if (request.function == Function::point_to_point) continue;
    const std::size_t ranks = requests.size();
    if (const std::size_t sent = sent_bytes(request, static_cast<int>(rank), static_cast<int>(ranks)))
      footprint->reads.push_back(range(request.send, sent));
    footprint->writes.push_back(range(request.receive, bytes_of(request, received_elements(request, ranks))));
  }
  return footprint;
}

void execute(const std::vector<Request>& requests) {
  switch (requests[0].function) {
    case Function::all_reduce:
      return all_reduce(requests);
    case Function::all_gather:
      return all_gather(requests);
    case Function::reduce_scatter:
      return reduce_scatter(requests);
    case Function::broadcast:
      return broadcast(requests);
    case Function::point_to_point:
      return exchange(requests);
  }
}

double seconds_of(const std::vector<Request>& requests) {
  const Collectives& model = spec().collectives;
  const auto rate = model.bus_gbps.find(rate_key(requests));
  double gbps = rate == model.bus_gbps.end() ? 1 : rate->second;
  double microseconds = model.alpha_us + steps_of(requests) * model.step_us;
  const NodesOf nodes = nodes_of(requests);
  if (nodes.count > 1) {
    gbps = std::min(gbps, network_bus_gbps(requests, nodes));
    const bool both_ways = requests[0].function == Function::all_reduce;
    const bool one_step = requests[0].function == Function::point_to_point;
    microseconds += spec().nodes.network.latency_us * (one_step ? 1 : (both_ways ? 2 : 1) * (nodes.count - 1));
  }
  return microseconds * 1e-6 + bus_bytes(requests) / (gbps * 1e9);
}

std::uint64_t identity_of(const std::vector<Request>& requests) {
  Identity identity(call_name(requests[0].function));
  for (const Request& request : requests) {
    identity.add(request.send).add(request.receive).add(request.count).add(static_cast<std::uint64_t>(request.type));
    identity.add(static_cast<std::uint64_t>(request.root));
    for (const Message& message : request.messages)
      identity.add(message.is_send ? 1 : 0)
          .add(message.buffer)
          .add(message.bytes)
          .add(static_cast<std::uint64_t>(message.peer));
  }
  return identity.value();
}

std::size_t logged_bytes(const Request& request) { return bytes_of(request, request.count); }

}  // namespace virtual_platform::nccl
