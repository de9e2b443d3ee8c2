#include "kernels/mpi/mpi_world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <thread>

#include "kernels/mpi/library.h"

namespace claimcheck::kernels {

namespace {

constexpr Duration start_deadline{120};
constexpr Duration end_deadline{15};
constexpr int most_message_bytes = 1 << 30;  // MPI counts in int
constexpr int roll_call_tag = 32767;         // the largest tag every MPI has

// Close looks at first: most waits are of microseconds. Long ones cost no core.
class Looks {
 public:
  void pause() {
    ++count_;
    if (count_ < 2000) return;
    if (count_ < 20000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

 private:
  unsigned count_ = 0;
};

// Runs `work` in a thread of its own; false when it did not end in time and is left behind.
bool within(Duration deadline, std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  std::future<void> ended = task.get_future();
  std::thread(std::move(task)).detach();
  return ended.wait_for(deadline) == std::future_status::ready;
}

// Equal for processes that can share memory: one kernel, one /dev/shm. Containers of one machine count as nodes.
// CLAIMCHECK_NODE tells apart what is one machine, for tests of several nodes.
std::string node_key() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat shared {};
  stat("/dev/shm", &shared);
  const char* const pretended = std::getenv("CLAIMCHECK_NODE");
  return fmt::format("{} {} {} {}", boot, shared.st_dev, shared.st_ino, pretended == nullptr ? "" : pretended);
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

Error failure(Outcome outcome, std::string text, std::string remedy, std::string code = {}) {
  return Error({.outcome = outcome,
                .library = "MPI",
                .code = std::move(code),
                .text = std::move(text),
                .remedy = std::move(remedy),
                .context_dead = true});
}

}  // namespace

MpiWorld::MpiWorld(const ClaimcheckMpi& mpi, const Launch& launch, Duration deadline) : mpi_(mpi), deadline_(deadline) {
  start(launch);
  find_nodes();
}

void MpiWorld::start(const Launch& launch) {
  // Shared with the thread that may be left behind.
  struct Started {
    int code = 0;
    int process = 0;
    int processes = 0;
    char library[256] = {};
  };
  const auto started = std::make_shared<Started>();
  const bool in_time = within(start_deadline, [started, &mpi = mpi_] {
    started->code = mpi.start(&started->process, &started->processes, started->library, sizeof started->library);
  });
  if (!in_time)
    throw failure(Outcome::timed_out,
                  fmt::format("{}, and did not all connect within {:g} s", describe(launch), start_deadline.count()),
                  "see whether every node can reach the others, and has this program and MPI");
  check(started->code);
  process_ = started->process;
  processes_ = started->processes;
  library_ = started->library;
  library_ = library_.substr(0, library_.find_first_of(",\n"));
  if (launch.processes && *launch.processes != processes_)
    throw failure(Outcome::failed, fmt::format("{}, and {} sees {}", describe(launch), library_, processes_),
                  "start it with the launcher of that MPI; under Slurm with srun --mpi=pmix");
}

void MpiWorld::find_nodes() {
  const std::vector<std::string> keys = gather(node_key());
  const std::vector<std::string> names = gather(host_name());
  std::vector<std::string> seen;
  nodes_.clear();
  hosts_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = std::find(seen.begin(), seen.end(), keys[i]);
    nodes_.push_back(static_cast<int>(found - seen.begin()));
    if (found != seen.end()) continue;
    seen.push_back(keys[i]);
    hosts_.push_back(names[i]);
  }
  const int mine = node_of(process_);
  local_process_ = static_cast<int>(std::count(nodes_.begin(), nodes_.begin() + process_, mine));
  local_processes_ = static_cast<int>(std::count(nodes_.begin(), nodes_.end(), mine));
}

MpiWorld::~MpiWorld() {
  if (dead_) return;
  try {
    deadline_ = end_deadline;
    meet(Call::barrier, 0, false);
    within(end_deadline, [&mpi = mpi_] { mpi.finish(); });
  } catch (...) {  // the launcher notices a process that ends without having finished
  }
}

Facts MpiWorld::facts() const {
  return {{"library", library_},
          {"processes", static_cast<std::int64_t>(processes_)},
          {"nodes", static_cast<std::int64_t>(nodes())},
          {"hosts", fmt::format("{}", fmt::join(hosts_, " "))}};
}

void MpiWorld::broadcast(std::span<std::byte> data) {
  if (const Meeting meeting = meet(Call::broadcast, 0, false); meeting.failed) throw_reports();
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline_);
  while (!data.empty()) {
    const auto bytes = std::min<std::size_t>(data.size(), most_message_bytes);
    wait(begin([&](auto* request) { return mpi_.broadcast(data.data(), static_cast<int>(bytes), request); }), end);
    data = data.subspan(bytes);
  }
}

double MpiWorld::max(double value) {
  const Meeting meeting = meet(Call::max, value, false);
  if (meeting.failed) throw_reports();
  return meeting.value;
}

void MpiWorld::barrier() {
  if (const Meeting meeting = meet(Call::barrier, 0, false); meeting.failed) throw_reports();
}

std::vector<std::string> MpiWorld::gather(const std::string& mine) {
  const Meeting meeting = meet(Call::gather, static_cast<double>(mine.size()), false);
  if (meeting.failed) throw_reports();
  return all_texts(mine, meeting.value);
}

PhaseReports MpiWorld::end_phase(std::optional<std::string> failed) {
  if (dead_) leave_time_to_process_0();
  const double bytes = failed ? static_cast<double>(failed->size()) : 0;
  const Meeting meeting = meet(Call::end_phase, bytes, failed.has_value());
  return meeting.failed ? exchange_reports(failed) : PhaseReports{};
}

// The launcher ends all when a process goes that has not finished MPI, and process 0 may still be waiting in vain, as
// this one did, and then print what it has.
void MpiWorld::leave_time_to_process_0() const {
  constexpr Duration to_print{5};
  if (process_ != 0) std::this_thread::sleep_for(deadline_ + to_print);
}

// The largest text is agreed upon again: what others brought to the meeting may have been another kind of number.
PhaseReports MpiWorld::exchange_reports(const std::optional<std::string>& failed) {
  const std::string mine = failed ? "!" + *failed : "";
  const Meeting sizes = meet(Call::gather, static_cast<double>(mine.size()), false);
  PhaseReports reports;
  for (const std::string& text : all_texts(mine, sizes.value))
    reports.push_back(text.empty() ? std::nullopt : std::optional(text.substr(1)));
  return reports;
}

void MpiWorld::throw_reports() { throw PeersFailed(exchange_reports(std::nullopt)); }

MpiWorld::Meeting MpiWorld::meet(Call call, double value, bool failed) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline_);
  const auto number = static_cast<double>(call);
  const double mine[] = {value, failed ? 1.0 : 0.0, number, -number};
  double all[] = {0, 0, 0, 0};
  wait(begin([&](auto* request) { return mpi_.max(mine, all, 4, request); }), end);
  const Meeting meeting{all[0], all[1] > 0};
  if (!meeting.failed && all[2] != -all[3]) {
    dead_ = true;
    throw failure(Outcome::failed, "the processes of this run are no longer at the same point",
                  "report it with the worker's log");
  }
  return meeting;
}

std::vector<std::string> MpiWorld::all_texts(const std::string& mine, double longest) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline_);
  const std::size_t block = sizeof(std::uint64_t) + static_cast<std::size_t>(longest);
  std::vector<char> own(block, '\0');
  std::vector<char> all(block * static_cast<std::size_t>(processes_), '\0');
  const std::uint64_t size = mine.size();
  std::memcpy(own.data(), &size, sizeof size);
  std::memcpy(own.data() + sizeof size, mine.data(), mine.size());
  wait(begin([&](auto* request) { return mpi_.gather(own.data(), static_cast<int>(block), all.data(), request); }),
       end);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size(); at += block) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, all.data() + at, sizeof bytes);
    texts.emplace_back(all.data() + at + sizeof bytes, bytes);
  }
  return texts;
}

bool MpiWorld::exchange(const Exchange& what, const std::function<bool()>& give_up) {
  std::span<const std::byte> out = what.out;
  std::span<std::byte> in = what.in;
  while (!out.empty() || !in.empty()) {
    const auto out_bytes = std::min<std::size_t>(out.size(), most_message_bytes);
    const auto in_bytes = std::min<std::size_t>(in.size(), most_message_bytes);
    ClaimcheckMpiRequest receive{};
    ClaimcheckMpiRequest send{};
    if (in_bytes > 0)
      receive = begin([&](auto* request) {
        return mpi_.receive(in.data(), static_cast<int>(in_bytes), what.from, what.in_tag, request);
      });
    if (out_bytes > 0)
      send = begin([&](auto* request) {
        return mpi_.send(out.data(), static_cast<int>(out_bytes), what.to, what.out_tag, request);
      });
    bool received = in_bytes == 0;
    bool sent = out_bytes == 0;
    for (Looks looks; !(received && sent); looks.pause()) {
      if (!received) received = done(receive);
      if (!sent) sent = done(send);
      if (received && sent) break;
      if (give_up()) {
        dead_ = true;  // MPI still knows the buffers: it is not called any more
        return false;
      }
    }
    out = out.subspan(out_bytes);
    in = in.subspan(in_bytes);
  }
  return true;
}

template <class Begin>
ClaimcheckMpiRequest MpiWorld::begin(Begin begin) {
  check_alive();
  ClaimcheckMpiRequest request{};
  const std::lock_guard lock(mutex_);
  check(begin(&request));
  return request;
}

bool MpiWorld::done(ClaimcheckMpiRequest& request) {
  check_alive();
  const std::lock_guard lock(mutex_);
  int flag = 0;
  check(mpi_.test(&request, &flag));
  return flag != 0;
}

void MpiWorld::wait(ClaimcheckMpiRequest request, Clock::time_point end) {
  for (Looks looks; !done(request); looks.pause())
    if (Clock::now() > end) give_up_waiting();
}

void MpiWorld::check(int code) {
  if (code == 0) return;
  char text[256] = {};
  mpi_.text_of(code, text, sizeof text);
  dead_ = true;
  throw failure(Outcome::failed, "MPI cannot go on", "see whether all processes and nodes are alive", text);
}

void MpiWorld::check_alive() const {
  if (dead_) throw failure(Outcome::failed, "the processes of this run are not connected any more", {});
}

void MpiWorld::give_up_waiting() {
  const std::string missing = who_is_missing();
  dead_ = true;
  throw failure(Outcome::timed_out, fmt::format("{} did not come within {:g} s", missing, deadline_.count()),
                "that process hangs or is much slower than the others: see what its node does");
}

// All who waited in vain tell process 0 so, at about the same time; it knows those it does not hear of.
std::string MpiWorld::who_is_missing() {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::min(deadline_, Duration(3)));
  char here = 1;
  if (process_ != 0) {
    ClaimcheckMpiRequest request = begin([&](auto* r) { return mpi_.send(&here, 1, 0, roll_call_tag, r); });
    // Process 0 is left the time to print what it has: the launcher ends all when the first one goes.
    while (!done(request) || Clock::now() < end + std::chrono::seconds(2)) {
      if (Clock::now() > end + std::chrono::seconds(2)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return "another process";
  }
  std::vector<ClaimcheckMpiRequest> requests;
  std::vector<char> answers(static_cast<std::size_t>(processes_));
  for (int other = 1; other < processes_; ++other)
    requests.push_back(begin([&](auto* r) { return mpi_.receive(&answers[other], 1, other, roll_call_tag, r); }));
  std::vector<int> missing;
  do {
    missing.clear();
    for (int other = 1; other < processes_; ++other)
      if (answers[other] == 0 && !done(requests[other - 1])) missing.push_back(other);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (!missing.empty() && Clock::now() < end);
  if (missing.empty()) return "another process";
  constexpr std::size_t most_named = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(most_named, missing.size()); ++i)
    names += fmt::format("{}process {} on node {}", i == 0 ? "" : ", ", missing[i], node_of(missing[i]));
  return missing.size() <= most_named ? names : fmt::format("{} and {} others", names, missing.size() - most_named);
}

}  // namespace claimcheck::kernels
