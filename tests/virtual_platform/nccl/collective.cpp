#include "tests/virtual_platform/nccl/collective.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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
  for (const Request& request : requests) targets.push_back(at(request.receive, 0));
  sum_into(requests, 0, requests[0].count, targets);
}

// In place, a rank's output overlaps its input, but only its own share of it, which no other rank reads.
void reduce_scatter(const std::vector<Request>& requests) {
  for (std::size_t rank = 0; rank < requests.size(); rank++)
    sum_into(requests, rank * requests[rank].count, requests[rank].count, {at(requests[rank].receive, 0)});
}

void all_gather(const std::vector<Request>& requests) {
  for (std::size_t source = 0; source < requests.size(); source++) {
    const std::size_t bytes = bytes_of(requests[source], requests[source].count);
    for (const Request& target : requests)
      std::memmove(at(target.receive, source * bytes), at(requests[source].send, 0), bytes);
  }
}

void broadcast(const std::vector<Request>& requests) {
  const Request& root = requests[static_cast<std::size_t>(requests[0].root)];
  for (const Request& target : requests)
    std::memmove(at(target.receive, 0), at(root.send, 0), bytes_of(root, root.count));
}

// The n-th send from one rank to another belongs to the other's n-th receive from it. All sends are read before
// anything is written, so that one buffer may serve both.
void exchange(const std::vector<Request>& requests) {
  std::vector<std::vector<std::byte>> taken;
  std::vector<std::pair<void*, std::size_t>> targets;  // where, and which of `taken`
  for (std::size_t receiver = 0; receiver < requests.size(); receiver++) {
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

std::shared_ptr<const Footprint> footprint_of(const std::vector<Request>& requests) {
  auto footprint = std::make_shared<Footprint>();
  for (std::size_t rank = 0; rank < requests.size(); rank++) {
    const Request& request = requests[rank];
    for (const Message& message : request.messages)
      (message.is_send ? footprint->reads : footprint->writes).push_back(range(message.buffer, message.bytes));
    if (request.function == Function::point_to_point) continue;
    const std::size_t ranks = requests.size();
    if (request.function != Function::broadcast || static_cast<int>(rank) == request.root)
      footprint->reads.push_back(range(request.send, bytes_of(request, sent_elements(request, ranks))));
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
  const double gbps = rate == model.bus_gbps.end() ? 1 : rate->second;
  return (model.alpha_us + steps_of(requests) * model.step_us) * 1e-6 + bus_bytes(requests) / (gbps * 1e9);
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
