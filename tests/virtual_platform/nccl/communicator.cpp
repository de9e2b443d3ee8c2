#include "tests/virtual_platform/nccl/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace virtual_platform::nccl {

bool Clique::join(int rank, int device) {
  int& place = devices_[static_cast<std::size_t>(rank)];
  if (place >= 0) return false;
  place = device;
  joined_++;
  position_.resize(devices_.size());
  changed_.notify_all();
  return true;
}

void Clique::wait_until_complete(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] { return complete(); });
}

ncclResult_t Clique::enqueue(int rank, Request request, Stream& stream) {
  const auto index = static_cast<std::size_t>(rank);
  const std::uint64_t number = position_[index]++;
  Collective& collective = open_[number];
  Meeting& meeting = *collective.meeting;
  if (collective.arrived == 0) {
    collective.requests.resize(static_cast<std::size_t>(ranks_));
    meeting.expected = ranks_;
    std::erase_if(meetings_, [](const std::weak_ptr<Meeting>& one) { return one.expired(); });
    meetings_.push_back(collective.meeting);
  } else if (const auto other = std::find_if(collective.requests.begin(), collective.requests.end(),
                                             [](const Request& one) { return one.send || !one.messages.empty(); });
             other != collective.requests.end() && !agree(*other, request)) {
    // Ranks that do not agree wait for each other for ever.
    meeting.hung = true;
  }
  const std::string_view name = call_name(request.function);
  // A call of this rank goes wrong: its work never starts, and all ranks learn of it.
  const OperationFault* fault = next_fault("nccl", name, virtual_platform::device(device(rank)).machine_index);
  if (fault != nullptr) {
    meeting.hung = true;
    if (fault->kind == "async_error") error = ncclRemoteError;
  }
  collective.requests[index] = std::move(request);
  const std::shared_ptr<Meeting> shared = collective.meeting;
  if (++collective.arrived == ranks_) {
    auto requests = std::make_shared<const std::vector<Request>>(std::move(collective.requests));
    meeting.seconds = seconds_of(*requests);
    meeting.footprint = footprint_of(*requests);
    meeting.effect = [requests] { execute(*requests); };
    meeting.identity = identity_of(*requests);
    open_.erase(number);
  }
  Work work{.kind = "collective", .name = name};
  work.engines = {{device(rank), Engine::compute}};
  work.meeting = shared;
  return virtual_platform::enqueue(stream, std::move(work)) == 0 ? ncclSuccess : ncclUnhandledCudaError;
}

void Clique::abort() {
  {
    const std::lock_guard lock(engine_mutex());
    for (const std::weak_ptr<Meeting>& one : meetings_)
      if (const std::shared_ptr<Meeting> meeting = one.lock()) meeting->aborted = true;
  }
  poke();
}

std::mutex& clique_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::shared_ptr<Clique> clique_of(const ncclUniqueId& id, int ranks) {
  static auto* cliques = new std::map<std::string, std::weak_ptr<Clique>>;
  std::weak_ptr<Clique>& known = (*cliques)[std::string(id.internal, sizeof id.internal)];
  if (std::shared_ptr<Clique> clique = known.lock()) return clique;
  std::uint64_t identifier = 0;
  std::memcpy(&identifier, id.internal, sizeof identifier);
  auto made = std::make_shared<Clique>(identifier, ranks);
  known = made;
  return made;
}

ncclUniqueId make_unique_id() {
  static std::uint64_t number = 0;
  ncclUniqueId id{};
  const std::uint64_t identifier = 0x9e3779b97f4a7c15U * (++number + (static_cast<std::uint64_t>(getpid()) << 20));
  std::memcpy(id.internal, &identifier, sizeof identifier);
  return id;
}

}  // namespace virtual_platform::nccl
