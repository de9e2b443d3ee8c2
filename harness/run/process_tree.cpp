#include "harness/run/process_tree.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace claimcheck {

std::set<pid_t> children_of(pid_t process) {
  std::set<pid_t> children;
  std::error_code error;
  // Each thread has its own list: of those it started.
  for (std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", process), error), end;
       !error && thread != end; thread.increment(error)) {
    std::ifstream list(thread->path() / "children");
    for (pid_t child = 0; list >> child;) children.insert(child);
  }
  return children;
}

std::set<pid_t> descendants_of(pid_t process) {
  std::set<pid_t> found;
  std::set<pid_t> open = children_of(process);
  while (!open.empty()) {
    const pid_t next = *open.begin();
    open.erase(open.begin());
    if (!found.insert(next).second) continue;
    for (const pid_t child : children_of(next)) open.insert(child);
  }
  return found;
}

}  // namespace claimcheck
