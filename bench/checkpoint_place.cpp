#include "bench/checkpoint_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <vector>

#include "bench/scratch_file.h"

namespace claimcheck::bench {

namespace {

// The kernel writes blanks and backslashes in paths as \040 and the like.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool octal = text[i] == '\\' && i + 3 < text.size() && text.find_first_not_of("01234567", i + 1) > i + 3;
    result += octal ? static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8)) : text[i];
    if (octal) i += 3;
  }
  return result;
}

bool lies_in(const std::string& path, const std::string& folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string absolute(const std::string& directory) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(directory.c_str(), nullptr), &std::free);
  return resolved ? resolved.get() : directory;
}

}  // namespace

Mount mount_of(std::string_view mountinfo, const std::string& path) {
  Mount found;
  std::size_t longest = 0;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // id parent major:minor root MOUNT-POINT options [fields...] - TYPE SOURCE options   (proc(5))
    std::istringstream words(line);
    const std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
    std::size_t dash = 6;
    while (dash < word.size() && word[dash] != "-") ++dash;
    if (dash + 2 >= word.size()) continue;
    const std::string point = unescaped(word[4]);
    // A later mount on the same point hides the earlier one.
    if (!lies_in(path, point) || point.size() < longest) continue;
    longest = point.size();
    const std::string source = unescaped(word[dash + 2]);
    found = {word[dash + 1], source.starts_with("/dev/") ? source : std::string{}};
  }
  return found;
}

CheckpointPlace look_at(const std::string& directory, const std::string& option) {
  const std::string remedy = "give another directory with " + option;
  struct stat facts {};
  if (stat(directory.c_str(), &facts) != 0)
    throw system_error(fmt::format("the directory {} of {} cannot be used", directory, option), errno, remedy);
  if (!S_ISDIR(facts.st_mode))
    throw system_error(fmt::format("{} of {} is no directory", directory, option), ENOTDIR, remedy);
  refuse_memory_file_system(directory, option);
  if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    throw system_error(fmt::format("no file can be made in the directory {} of {}", directory, option), errno, remedy);
  struct statvfs space {};
  if (statvfs(directory.c_str(), &space) != 0) throw system_error("cannot look at the directory " + directory, errno);

  CheckpointPlace place{.directory = directory, .option = option};
  std::ifstream mountinfo("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(mountinfo), {}};
  place.mount = mount_of(text, absolute(directory));
  // Major number 0: no block device, as of a network or an overlay; whether those count is up to them.
  place.counts_reads = major(facts.st_dev) != 0;
  place.free_bytes = static_cast<std::size_t>(space.f_bavail) * space.f_frsize;
  return place;
}

}  // namespace claimcheck::bench
