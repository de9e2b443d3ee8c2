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
};
thread_local Group group;

ncclResult_t refusal(const char* function, ncclResult_t code = ncclInternalError) {
  return static_cast<ncclResult_t>(fail_point(function, code));
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

std::string network_name() {
  if (model().transport.starts_with("NET/OFI")) return "AWS Libfabric";
  return model().transport.starts_with("NET/IB") ? "IB" : "Socket";
}

void log_set_up(const Communicator& one) {
  if (network_name() == "AWS Libfabric") {
    info(log_init | log_net, one.device, "NET/Plugin: Loaded net plugin AWS Libfabric (v10)");
    info(log_init | log_net, one.device, "NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)");
  }
  info(log_init | log_net, one.device, "Using network " + network_name());
  log_start(one, "START");
  const bool nvls = model().algorithm == "nvls";
  info(log_init, one.device,
       fmt::format("NVLS multicast support is {}available on dev {} (NVLS_NCHANNELS {})", nvls ? "" : "not ",
                   one.device, nvls ? 16 : 0));
  info(log_init, one.device,
       fmt::format("{} coll channels, {} collnet channels, {} nvls channels, {} p2p channels, {} p2p channels per peer",
                   model().channels, 0, nvls ? 16 : 0, model().channels, 1));
  log_start(one, "COMPLETE");
}

// Channels of a ring, named when the first collective connects it.
void log_connections(const Communicator& one) {
  const int ranks = one.clique->ranks();
  if (ranks < 2) return;
  const int next = (one.rank + 1) % ranks;
  const std::string& transport = model().transport;
  const bool network = transport.starts_with("NET/");
  for (int channel = 0; channel < model().channels; channel++) {
    const std::string pair = fmt::format("{}[{}] -> {}[{}]", one.rank, one.device, next, one.clique->device(next));
    if (transport.starts_with("SHM/"))
      info(log_init | log_p2p, one.device, fmt::format("Channel {:02} : {} via {}", channel, pair, transport));
    else if (network)
      info(log_init | log_net, one.device, fmt::format("Channel {:02}/0 : {} [send] via {}", channel, pair, transport));
    else
      info(log_init | log_p2p, one.device, fmt::format("Channel {:02}/0 : {} via {}", channel, pair, transport));
  }
  if (model().algorithm == "nvls") info(log_init, one.device, "Connected NVLS tree");
  info(log_init, one.device, "Connected all rings, use ring PXN 0 GDR 1");
}

void log_choice(const Communicator& one, const Request& request) {
  if (one.rank != 0 || request.function == Function::point_to_point) return;
  const bool nvls = model().algorithm == "nvls" && request.function == Function::all_reduce;
  const std::string word = nvls ? "NVLS" : model().algorithm == "tree" ? "TREE" : "RING";
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
  for (ncclComm_t one : ended.joined) {
    one->clique->wait_until_complete(lock);
    log_set_up(*one);
  }
  ncclResult_t result = ncclSuccess;
  for (Pending& pending : merged(std::move(ended.operations))) {
    const ncclResult_t code = launch(pending);
    if (result == ncclSuccess) result = code;
  }
  return result;
}

ncclResult_t submit(ncclComm_t communicator, Request request, cudaStream_t handle) {
  if (communicator == nullptr) return ncclInvalidArgument;
  if (!communicator->clique->complete()) return ncclInvalidArgument;
  Stream* stream = as_stream(handle);
  const bool known = element_bytes(request.type) != 0 && request.operation == ncclSum;
  if (stream == nullptr || device_of(*stream) != communicator->device || !known) return ncclInvalidArgument;
  if (const ncclResult_t error = communicator->clique->error; error != ncclSuccess) return error;
  group.operations.push_back({communicator, std::move(request), stream});
  return group.depth > 0 ? ncclSuccess : end_group();
}

ncclResult_t message(ncclComm_t communicator, bool is_send, void* buffer, std::size_t count, ncclDataType_t type,
                     int peer, cudaStream_t stream) {
  if (communicator == nullptr || peer < 0 || peer >= communicator->clique->ranks()) return ncclInvalidArgument;
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
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  {
    const std::lock_guard lock(clique_mutex());
    auto made = std::make_unique<ncclComm>();
    made->clique = clique_of(id, ranks);
    made->rank = rank;
    made->device = current_device();
    if (made->clique->ranks() != ranks || !made->clique->join(rank, made->device)) return ncclInvalidUsage;
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
  *error = communicator->clique->error;
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
  if (communicator == nullptr || root < 0 || root >= communicator->clique->ranks()) return ncclInvalidArgument;
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
  return communicator != nullptr && communicator->clique->error != ncclSuccess ? "virtual: a remote rank is gone" : "";
}

#pragma GCC visibility pop
}
