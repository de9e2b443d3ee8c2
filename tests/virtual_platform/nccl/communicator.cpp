#include "tests/virtual_platform/nccl/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
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

// Ranks of this process that the others do not know of yet join there, too.
bool Clique::link_up() {
  if (!link_) link_ = Link::open(place_, ranks_);
  if (!link_) return false;
  linked_.resize(devices_.size());
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    if (devices_[rank] < 0 || linked_[rank]) continue;
    if (!link_->join(static_cast<int>(rank), virtual_platform::device(devices_[rank]).machine_index)) return false;
    linked_[rank] = true;
  }
  return true;
}

ncclResult_t Clique::wait_until_complete(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::seconds longest{120};
  const auto end = std::chrono::steady_clock::now() + longest;
  while (!complete()) {
    if (!link_up() || link_->is_broken()) return ncclRemoteError;
    if (std::chrono::steady_clock::now() > end) return ncclSystemError;
    changed_.wait_for(lock, std::chrono::milliseconds(1));
  }
  if (joined_ < ranks_) return ncclSuccess;
  link_ = nullptr;
  forget_link_place(place_);
  return ncclSuccess;
}

int Clique::machine_index(int rank) const {
  const int here = devices_[static_cast<std::size_t>(rank)];
  return here >= 0 ? virtual_platform::device(here).machine_index : link_->machine_index(rank);
}

ncclResult_t Clique::error() {
  if (error_ == ncclSuccess && link_ && link_->is_broken()) error_ = ncclRemoteError;
  return error_;
}

ncclResult_t Clique::enqueue(int rank, Request request, Stream& stream) {
  const auto index = static_cast<std::size_t>(rank);
  const std::uint64_t number = position_[index]++;
  Collective& collective = open_[number];
  Meeting& meeting = *collective.meeting;
  if (collective.arrived == 0) {
    collective.requests.resize(static_cast<std::size_t>(ranks_));
    meeting.expected = joined_;
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
  const OperationFault* fault = next_fault("nccl", name, virtual_platform::device(devices_[index]).machine_index);
  if (fault != nullptr) {
    meeting.hung = true;
    if (fault->kind == "async_error") error_ = ncclRemoteError;
    if (fault->kind == "async_error" && link_) link_->raise_error();
  }
  collective.requests[index] = std::move(request);
  const std::shared_ptr<Meeting> shared = collective.meeting;
  if (++collective.arrived == joined_) {
    complete_collective(number, collective);
    open_.erase(number);
  }
  Work work{.kind = "collective", .name = name};
  work.engines = {{devices_[index], Engine::compute}};
  work.meeting = shared;
  return virtual_platform::enqueue(stream, std::move(work)) == 0 ? ncclSuccess : ncclUnhandledCudaError;
}

void Clique::complete_collective(std::uint64_t number, Collective& collective) {
  Meeting& meeting = *collective.meeting;
  if (link_) {
    for (std::size_t rank = 0; rank < devices_.size(); ++rank) collective.requests[rank].is_here = devices_[rank] >= 0;
    meeting.footprint = footprint_of(collective.requests);
    meeting.elsewhere = link_->take_part(number, std::move(collective.requests));
    return;
  }
  auto requests = std::make_shared<const std::vector<Request>>(std::move(collective.requests));
  meeting.seconds = seconds_of(*requests);
  meeting.footprint = footprint_of(*requests);
  meeting.effect = [requests] { execute(*requests); };
  meeting.identity = identity_of(*requests);
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
  LinkPlace place;
  std::memcpy(&place, id.internal, sizeof place);
  auto made = std::make_shared<Clique>(place, ranks);
  known = made;
  return made;
}

ncclUniqueId make_unique_id() {
  static std::uint64_t number = 0;
  ncclUniqueId id{};
  const LinkPlace place =
      make_link_place(0x9e3779b97f4a7c15U * (++number + (static_cast<std::uint64_t>(getpid()) << 20)));
  std::memcpy(id.internal, &place, sizeof place);
  return id;
}

}  // namespace virtual_platform::nccl
