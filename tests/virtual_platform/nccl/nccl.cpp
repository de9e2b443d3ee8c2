// Stand-in for libnccl.so.2: the calls of the product. Groups are kept per thread, as in the library; what a group's
// end does, a call outside a group does at once.
#include <fmt/format.h>

#include <cstdlib>
#include <mutex>

#include "tests/virtual_platform/engine/calls.h"
#include "tests/virtual_platform/nccl/communicator.h"
#include "tests/virtual_platform/nccl/log.h"

namespace {

using namespace virtual_platform;        // NOLINT(google-build-using-namespace)
using namespace virtual_platform::nccl;  // NOLINT(google-build-using-namespace)

struct Pending {
  ncclComm_t communicator = nullptr;
  Request request;
  Stream* stream = nullptr;
};

struct Group {
  int depth = 0;
  std::vector<ncclComm_t> joined;
  std::vector<Pending> operations;
  ncclResult_t error = ncclSuccess;  // the first of a call within: the group fails with it, and does nothing
};
thread_local Group group;

// What a call that can be part of a group returns.
ncclResult_t noted(ncclResult_t code) {
  if (code != ncclSuccess && group.depth > 0 && group.error == ncclSuccess) group.error = code;
  return code;
}

ncclResult_t refusal(const char* function, ncclResult_t code = ncclInternalError) {
  return noted(static_cast<ncclResult_t>(fail_point(function, code)));
}

const Collectives& model() { return spec().collectives; }

unsigned bus_number(int device_index) {
  const std::string& id = device(device_index).gpu->pci_bus_id;
  return static_cast<unsigned>(std::strtoul(id.substr(id.find(':') + 1, 2).c_str(), nullptr, 16)) << 12;
}

void log_start(const Communicator& one, const char* what) {
  info(log_init, one.device,
       fmt::format("ncclCommInitRank comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId 0x{:x} - "
                   "Init {}",
                   fmt::ptr(&one), one.rank, one.clique->ranks(), one.device, device(one.device).machine_index,
                   bus_number(one.device), one.clique->identifier(), what));
}

// What NCCL takes between nodes; on one node its usual choice, used for nothing unless the machine's transport says so.
std::string network_kind() {
  if (spec().nodes.count > 1) return spec().nodes.network.kind;
  if (model().transport.starts_with("NET/OFI")) return "efa";
  return model().transport.starts_with("NET/IB") ? "ib" : "socket";
}

std::string network_name(const std::string& kind) {
  return kind == "efa" ? "AWS Libfabric" : kind == "ib" ? "IB" : "Socket";
}

// Of a channel between nodes: "NET/AWS Libfabric/3/GDRDMA".
std::string network_transport(int channel) {
  const Network& network = spec().nodes.network;
  const bool direct = network.gpu_direct && network.kind != "socket";
  return fmt::format("NET/{}/{}{}", network_name(network.kind), channel % network.nics, direct ? "/GDRDMA" : "");
}

bool has_nvls() { return model().algorithm == "nvls"; }

void log_set_up(const Communicator& one) {
  const std::string kind = network_kind();
  if (kind == "efa") {
    const int nics = spec().nodes.count > 1 ? spec().nodes.network.nics : 4;
    info(log_init | log_net, one.device, "NET/Plugin: Loaded net plugin AWS Libfabric (v10)");
    info(log_init | log_net, one.device,
         fmt::format("NET/OFI Selected provider is efa, fabric is efa-direct (found {} nics)", nics));
  }
  info(log_init | log_net, one.device, "Using network " + network_name(kind));
  log_start(one, "START");
  const bool nvls = has_nvls();
  info(log_init, one.device,
       fmt::format("NVLS multicast support is {}available on dev {} (NVLS_NCHANNELS {})", nvls ? "" : "not ",
                   one.device, nvls ? 16 : 0));
  info(log_init, one.device,
       fmt::format("{} coll channels, {} collnet channels, {} nvls channels, {} p2p channels, {} p2p channels per peer",
                   model().channels, 0, nvls ? 16 : 0, model().channels, 1));
  log_start(one, "COMPLETE");
}

bool several_nodes(Clique& clique) {
  for (int rank = 1; rank < clique.ranks(); ++rank)
    if (clique.node(rank) != clique.node(0)) return true;
  return false;
}

// A channel from one rank to the next, as the one or the other says it.
void log_channel(const Communicator& one, int from, int to, int channel) {
  const Clique& clique = *one.clique;
  const std::string pair =
      fmt::format("{}[{}] -> {}[{}]", from, clique.machine_index(from), to, clique.machine_index(to));
  const std::string& inside = model().transport;
  const bool between_nodes = clique.node(from) != clique.node(to);
  if (between_nodes || inside.starts_with("NET/"))
    info(log_init | log_net, one.device,
         fmt::format("Channel {:02}/0 : {} [{}] via {}", channel, pair, from == one.rank ? "send" : "receive",
                     between_nodes ? network_transport(channel) : inside));
  else if (from != one.rank)
    return;  // inside a node the sender says it
  else if (inside.starts_with("SHM/"))
    info(log_init | log_p2p, one.device, fmt::format("Channel {:02} : {} via {}", channel, pair, inside));
  else
    info(log_init | log_p2p, one.device, fmt::format("Channel {:02}/0 : {} via {}", channel, pair, inside));
}

// Channels of a ring, named when the first collective connects it.
void log_connections(const Communicator& one) {
  const int ranks = one.clique->ranks();
  if (ranks < 2) return;
  const int next = (one.rank + 1) % ranks;
  const int before = (one.rank + ranks - 1) % ranks;
  const bool network_before = one.clique->node(before) != one.clique->node(one.rank);
  for (int channel = 0; channel < model().channels; channel++) {
    if (network_before) log_channel(one, before, one.rank, channel);
    log_channel(one, one.rank, next, channel);
  }
  if (has_nvls()) info(log_init, one.device, "Connected NVLS tree");
  info(log_init, one.device, "Connected all rings, use ring PXN 0 GDR 1");
}

void log_choice(const Communicator& one, const Request& request) {
  if (one.rank != 0 || request.function == Function::point_to_point) return;
  const bool nvls = has_nvls() && request.function == Function::all_reduce;
  const std::string word = nvls                          ? (several_nodes(*one.clique) ? "NVLSTREE" : "NVLS")
                           : model().algorithm == "tree" ? "TREE"
                                                         : "RING";
  const std::string protocol = model().protocol == "Simple" ? "SIMPLE" : model().protocol;
  info(log_tuning, one.device,
       fmt::format("{}: {} Bytes -> Algo {} proto {} channel{{Lo..Hi}}={{0..{}}}", log_name(request.function),
                   logged_bytes(request), word, protocol, model().channels - 1));
}

ncclResult_t launch(Pending& pending) {
  Communicator& one = *pending.communicator;
  log_choice(one, pending.request);
  const ncclResult_t result = one.clique->enqueue(one.rank, std::move(pending.request), *pending.stream);
  if (result != ncclSuccess || one.connected) return result;
  log_connections(one);
  one.connected = true;
  return ncclSuccess;
}

// Sends and receives of one communicator in one group are one operation, which all ranks take part in.
std::vector<Pending> merged(std::vector<Pending> operations) {
  std::vector<Pending> result;
  for (Pending& one : operations) {
    Pending* same = nullptr;
    for (Pending& other : result)
      if (other.communicator == one.communicator && other.request.function == Function::point_to_point &&
          one.request.function == Function::point_to_point)
        same = &other;
    if (same == nullptr)
      result.push_back(std::move(one));
    else
      same->request.messages.push_back(one.request.messages.front());
  }
  return result;
}

ncclResult_t end_group() {
  Group ended = std::exchange(group, {});
  std::unique_lock lock(clique_mutex());
  ncclResult_t result = ended.error;
  if (result != ncclSuccess) return result;
  for (ncclComm_t one : ended.joined) {
    if (const ncclResult_t code = one->clique->wait_until_complete(lock)) return code;
    log_set_up(*one);
  }
  for (Pending& pending : merged(std::move(ended.operations))) {
    const ncclResult_t code = launch(pending);
    if (result == ncclSuccess) result = code;
  }
  return result;
}

// Whether the call can be carried out.
ncclResult_t check_call(ncclComm_t communicator, const Request& request, Stream* stream) {
  if (communicator == nullptr || stream == nullptr) return ncclInvalidArgument;
  const bool known = element_bytes(request.type) != 0 && request.operation == ncclSum;
  if (device_of(*stream) != communicator->device || !known) return ncclInvalidArgument;
  const std::lock_guard lock(clique_mutex());
  if (!communicator->clique->complete()) return ncclInvalidArgument;
  return communicator->clique->error();
}

ncclResult_t submit(ncclComm_t communicator, Request request, cudaStream_t handle) {
  Stream* stream = as_stream(handle);
  if (const ncclResult_t code = check_call(communicator, request, stream)) return noted(code);
  group.operations.push_back({communicator, std::move(request), stream});
  return group.depth > 0 ? ncclSuccess : end_group();
}

ncclResult_t message(ncclComm_t communicator, bool is_send, void* buffer, std::size_t count, ncclDataType_t type,
                     int peer, cudaStream_t stream) {
  if (communicator == nullptr || peer < 0 || peer >= communicator->clique->ranks()) return noted(ncclInvalidArgument);
  Request request;
  request.function = Function::point_to_point;
  request.type = type;
  request.messages = {{is_send, peer, buffer, count * element_bytes(type)}};
  return submit(communicator, std::move(request), stream);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

ncclResult_t ncclGetVersion(int* version) {
  if (const auto code = refusal("ncclGetVersion")) return code;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (const auto code = refusal("ncclGetUniqueId", ncclSystemError)) return code;
  const std::lock_guard lock(clique_mutex());
  *id = make_unique_id();
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId id, int rank) {
  *communicator = nullptr;
  if (const auto code = refusal("ncclCommInitRank", ncclUnhandledCudaError)) return code;
  if (ranks < 1 || rank < 0 || rank >= ranks) return noted(ncclInvalidArgument);
  {
    const std::lock_guard lock(clique_mutex());
    auto made = std::make_unique<ncclComm>();
    made->clique = clique_of(id, ranks);
    made->rank = rank;
    made->device = current_device();
    if (made->clique->ranks() != ranks || !made->clique->join(rank, made->device)) return noted(ncclInvalidUsage);
    *communicator = made.release();
    group.joined.push_back(*communicator);
  }
  return group.depth > 0 ? ncclSuccess : end_group();
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  if (const auto code = refusal("ncclCommDestroy")) return code;
  const std::lock_guard lock(clique_mutex());
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  if (const auto code = refusal("ncclCommAbort")) return code;
  if (communicator == nullptr) return ncclInvalidArgument;
  const std::lock_guard lock(clique_mutex());
  communicator->clique->abort();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  if (const auto code = refusal("ncclCommGetAsyncError")) return code;
  if (communicator == nullptr) return ncclInvalidArgument;
  const std::lock_guard lock(clique_mutex());
  *error = communicator->clique->error();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (const auto code = refusal("ncclAllReduce")) return code;
  return submit(communicator, {Function::all_reduce, send, receive, count, type, operation, 0, {}}, stream);
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (const auto code = refusal("ncclReduceScatter")) return code;
  return submit(communicator, {Function::reduce_scatter, send, receive, count, type, operation, 0, {}}, stream);
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  if (const auto code = refusal("ncclAllGather")) return code;
  return submit(communicator, {Function::all_gather, send, receive, count, type, ncclSum, 0, {}}, stream);
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (const auto code = refusal("ncclBroadcast")) return code;
  if (communicator == nullptr || root < 0 || root >= communicator->clique->ranks()) return noted(ncclInvalidArgument);
  return submit(communicator, {Function::broadcast, send, receive, count, type, ncclSum, root, {}}, stream);
}

ncclResult_t ncclSend(const void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  if (const auto code = refusal("ncclSend")) return code;
  return message(communicator, true, const_cast<void*>(buffer), count, type, peer, stream);
}

ncclResult_t ncclRecv(void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  if (const auto code = refusal("ncclRecv")) return code;
  return message(communicator, false, buffer, count, type, peer, stream);
}

ncclResult_t ncclGroupStart() {
  if (const auto code = refusal("ncclGroupStart")) return code;
  group.depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const auto code = refusal("ncclGroupEnd");
  if (group.depth == 0) return ncclInvalidUsage;
  if (code != ncclSuccess) {
    group = {};
    return code;
  }
  return --group.depth > 0 ? ncclSuccess : end_group();
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "internal error - please report this issue to the NCCL developers";
  }
}

const char* ncclGetLastError(ncclComm_t communicator) {
  fail_point("ncclGetLastError", 0);
  const std::lock_guard lock(clique_mutex());
  return communicator != nullptr && communicator->clique->error() != ncclSuccess ? "virtual: a remote rank is gone"
                                                                                 : "";
}

#pragma GCC visibility pop
}
