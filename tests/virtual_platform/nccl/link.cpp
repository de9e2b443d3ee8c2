#include "tests/virtual_platform/nccl/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/virtual_platform/engine/device.h"

namespace virtual_platform::nccl {

namespace {

constexpr int most_messages = 2 * most_ranks;

struct SharedMessage {
  bool is_send = false;
  std::int32_t peer = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // of what is sent, in the rank's area
};

// Of one rank. `process` says last that it is there; the request is read between entering and being done.
struct SharedRank {
  std::atomic<std::int32_t> process;  // from 1
  std::int32_t node;
  std::int32_t machine_index;
  Function function;
  ncclDataType_t type;
  ncclRedOp_t operation;
  std::int32_t root;
  std::uint64_t count;
  std::int32_t message_count;
  SharedMessage messages[most_messages];
};

struct SharedProcess {
  std::atomic<std::uint64_t> entered;  // collectives
  std::atomic<std::uint64_t> done;
  std::atomic<bool> left;
  double delay;     // from the call until it could start, in virtual seconds
  double slowdown;  // of its slowest GPU
  bool changed;     // its data are others than at the collective before
};

}  // namespace

// A new file is all zeros, which is how everything here begins. Areas of the ranks' data follow; what was never written
// there takes no memory.
struct SharedPages {
  std::uint64_t identifier;
  std::uint64_t area_bytes;
  std::atomic<std::int32_t> processes;
  std::atomic<bool> error;
  SharedRank ranks[most_ranks];
  SharedProcess members[most_ranks];
};

namespace {

std::size_t header_bytes() { return (sizeof(SharedPages) + 4095) / 4096 * 4096; }

// What one rank can send in one collective: twice its GPU's memory, since one buffer may go to several.
std::size_t area_bytes() {
  double most = 1;
  for (const Gpu& gpu : spec().gpus) most = std::max(most, gpu.memory_mib);
  return 2 * static_cast<std::size_t>(most) << 20;
}

// Held by every process for its place, released by the system when it dies.
struct flock lock_of(int place) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

std::map<std::uint64_t, int>& files_made() {
  static auto* files = new std::map<std::uint64_t, int>;
  return *files;
}

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "virtual platform: %s\n", what.c_str());
  std::abort();
}

bool on_gpu(const std::vector<Range>& ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [](const Range& range) {
    const Allocation* allocation = find_allocation(range.begin);
    return range.empty() || (allocation != nullptr && allocation->device != host);
  });
}

bool overlap(const std::vector<Range>& some, const std::vector<Range>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Range& one) {
    return std::any_of(others.begin(), others.end(), [&](const Range& other) { return one.overlaps(other); });
  });
}

}  // namespace

LinkPlace make_link_place(std::uint64_t identifier) {
  const int file = memfd_create("claimcheck-virtual-nccl", MFD_CLOEXEC);
  const std::size_t bytes = header_bytes() + most_ranks * area_bytes();
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) give_up("no memory to share between processes");
  const std::uint64_t start[] = {identifier, area_bytes()};
  if (pwrite(file, start, sizeof start, 0) != sizeof start) give_up("no memory to share between processes");
  files_made()[identifier] = file;
  return {identifier, getpid(), file};
}

void forget_link_place(const LinkPlace& place) {
  const auto found = files_made().find(place.identifier);
  if (found == files_made().end()) return;
  close(found->second);
  files_made().erase(found);
}

std::shared_ptr<Link> Link::open(const LinkPlace& place, int ranks) {
  if (ranks > most_ranks) give_up(fmt::format("{} ranks in several processes, {} are the most", ranks, most_ranks));
  std::shared_ptr<Link> link(new Link);
  const auto made = files_made().find(place.identifier);
  // Closing any descriptor of the file would release this process's lock, so there is one only.
  if (made != files_made().end()) {
    link->file_ = made->second;
    files_made().erase(made);
  } else {
    link->file_ = ::open(fmt::format("/proc/{}/fd/{}", place.process, place.file).c_str(), O_RDWR | O_CLOEXEC);
  }
  link->place_ = place;
  link->ranks_ = ranks;
  struct stat status {};
  if (link->file_ < 0 || fstat(link->file_, &status) != 0 || status.st_size == 0) return nullptr;
  link->bytes_ = static_cast<std::size_t>(status.st_size);
  void* start = mmap(nullptr, link->bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, link->file_, 0);
  if (start == MAP_FAILED) return nullptr;
  link->pages_ = static_cast<SharedPages*>(start);
  if (link->pages_->identifier != place.identifier) return nullptr;
  link->mine_ = link->pages_->processes++;
  struct flock lock = lock_of(link->mine_);
  if (link->mine_ >= most_ranks || fcntl(link->file_, F_SETLK, &lock) != 0) return nullptr;
  return link;
}

Link::~Link() {
  if (pages_ != nullptr) {
    pages_->members[mine_].left = true;
    munmap(pages_, bytes_);
  }
  if (file_ >= 0) close(file_);
}

bool Link::join(int rank, int machine_index) {
  SharedRank& slot = pages_->ranks[rank];
  if (slot.process != 0) return false;
  slot.node = this_node();
  slot.machine_index = machine_index;
  slot.process = mine_ + 1;
  return true;
}

bool Link::complete() const {
  return std::all_of(pages_->ranks, pages_->ranks + ranks_, [](const SharedRank& one) { return one.process != 0; });
}

int Link::machine_index(int rank) const { return pages_->ranks[rank].machine_index; }
int Link::node(int rank) const { return pages_->ranks[rank].node; }
std::byte* Link::area(int rank) const {
  return reinterpret_cast<std::byte*>(pages_) + header_bytes() + static_cast<std::size_t>(rank) * pages_->area_bytes;
}

void Link::raise_error() { pages_->error = true; }

bool Link::has_died(int place) const {
  if (place == mine_ || pages_->members[place].left) return false;
  struct flock lock = lock_of(place);
  // Left meanwhile is not died.
  return fcntl(file_, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK && !pages_->members[place].left;
}

// The locks are looked at once a millisecond: who waits asks much more often. One that has taken its place and not yet
// its lock has no rank.
bool Link::is_broken() {
  if (pages_->error) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < std::chrono::milliseconds(1)) return false;
  looked_ = now;
  for (int rank = 0; rank < ranks_; ++rank) {
    const int process = pages_->ranks[rank].process;
    if (process != 0 && has_died(process - 1)) pages_->error = true;
  }
  return pages_->error;
}

bool Link::all_done(std::uint64_t number) const {
  return std::all_of(pages_->members, pages_->members + pages_->processes,
                     [&](const SharedProcess& one) { return one.done >= number; });
}

bool Link::all_entered(std::uint64_t number) const {
  return std::all_of(pages_->members, pages_->members + pages_->processes,
                     [&](const SharedProcess& one) { return one.entered > number; });
}

// This process's part in one collective.
class Link::Part final : public Elsewhere {
 public:
  Part(std::shared_ptr<Link> link, std::uint64_t number, std::vector<Request> requests)
      : link_(std::move(link)), number_(number), requests_(std::move(requests)), footprint_(footprint_of(requests_)) {}

  bool arrived(Meeting& meeting, Start& start) override {
    const SharedProcess* members = link_->pages_->members;
    if (members[link_->mine_].done != number_) return false;  // the one before has not taken place
    if (!entered_) {
      if (!link_->all_done(number_)) return false;
      link_->publish(*this, start);
      entered_ = true;
      called_ = start.enqueued;
    }
    if (!link_->all_entered(number_)) return false;
    bool changed = false;
    double delay = 0;
    for (int place = 0; place < link_->pages_->processes; ++place) {
      changed = changed || members[place].changed;
      delay = std::max(delay, members[place].delay);
      start.slowdown = std::max(start.slowdown, members[place].slowdown);
    }
    start.time = std::max(start.time, called_ + delay);
    auto all = std::make_shared<const std::vector<Request>>(link_->gathered(requests_));
    for (const Request& one : *all)
      if (!agree(one, all->front())) return false;  // ranks that do not agree wait for each other for ever
    meeting.seconds = seconds_of(*all);
    if (changed) meeting.effect = [all] { execute(*all); };
    return true;
  }

  void done() override { link_->pages_->members[link_->mine_].done = number_ + 1; }

  const std::vector<Request>& requests() const { return requests_; }
  const Footprint& footprint() const { return *footprint_; }
  std::uint64_t number() const { return number_; }

 private:
  std::shared_ptr<Link> link_;
  std::uint64_t number_;
  std::vector<Request> requests_;
  std::shared_ptr<const Footprint> footprint_;
  bool entered_ = false;
  double called_ = 0;
};

std::shared_ptr<Elsewhere> Link::take_part(std::uint64_t number, std::vector<Request> requests) {
  for (int rank = 0; rank < ranks_; ++rank) requests[static_cast<std::size_t>(rank)].node = node(rank);
  return std::make_shared<Part>(shared_from_this(), number, std::move(requests));
}

// A host's memory may be written to without the engine's knowledge, and a sum in place changes what it reads.
bool Link::has_changed(const Part& part) {
  std::vector<Request> mine;
  for (const Request& one : part.requests())
    if (one.is_here) mine.push_back(one);
  const std::uint64_t identity = identity_of(mine);
  const Footprint& footprint = part.footprint();
  const bool same = identity == last_identity_ && watch_ && !watch_->written;
  last_identity_ = identity;
  watch_ = std::make_shared<WriteWatch>();
  watch_->ranges = footprint.reads;
  watch_->ranges.insert(watch_->ranges.end(), footprint.writes.begin(), footprint.writes.end());
  watch_writes(watch_);
  return !same || !on_gpu(watch_->ranges) || overlap(footprint.reads, footprint.writes);
}

void Link::publish(const Part& part, const Elsewhere::Start& start) {
  SharedProcess& mine = pages_->members[mine_];
  mine.delay = start.time - start.enqueued;
  mine.slowdown = start.slowdown;
  mine.changed = has_changed(part);
  if (mine.changed) {
    run_pending(part.footprint().reads);
    for (int rank = 0; rank < ranks_; ++rank) {
      const Request& request = part.requests()[static_cast<std::size_t>(rank)];
      if (request.is_here) publish_data(request, rank);
    }
  }
  mine.entered = part.number() + 1;
}

void Link::publish_data(const Request& request, int rank) {
  SharedRank& slot = pages_->ranks[rank];
  slot.function = request.function;
  slot.type = request.type;
  slot.operation = request.operation;
  slot.root = request.root;
  slot.count = request.count;
  std::size_t used = 0;
  const auto put = [&](const void* from, std::size_t bytes) {
    if (used + bytes > pages_->area_bytes) give_up(fmt::format("rank {} sends more than twice its memory", rank));
    if (bytes > 0) std::memcpy(area(rank) + used, accessible(from), bytes);
    used += bytes;
  };
  put(request.send, sent_bytes(request, rank, ranks_));
  slot.message_count = 0;
  for (const Message& message : request.messages) {
    if (slot.message_count == most_messages) give_up("too many messages in one group");
    slot.messages[slot.message_count++] = {message.is_send, message.peer, message.bytes, used};
    if (message.is_send) put(message.buffer, message.bytes);
  }
}

// All ranks' requests, those of other processes with what they send in the shared areas and nothing to receive.
std::vector<Request> Link::gathered(const std::vector<Request>& mine) const {
  std::vector<Request> all = mine;
  for (int rank = 0; rank < ranks_; ++rank) {
    Request& request = all[static_cast<std::size_t>(rank)];
    if (request.is_here) continue;
    const SharedRank& slot = pages_->ranks[rank];
    request.function = slot.function;
    request.type = slot.type;
    request.operation = slot.operation;
    request.root = slot.root;
    request.count = slot.count;
    request.send = area(rank);
    for (int i = 0; i < slot.message_count; ++i) {
      const SharedMessage& message = slot.messages[i];
      request.messages.push_back({message.is_send, message.peer, area(rank) + message.offset, message.bytes});
    }
  }
  return all;
}

}  // namespace virtual_platform::nccl
