// Memory, swap, the control group's limit and the size of /dev/shm, all in bytes.
#include <cctype>

#include "harness/probe/cgroup.h"
#include "harness/probe/parts.h"

namespace claimcheck::probe {

namespace {

// "12334460 kB" of /proc/meminfo (its kB is 1024 bytes).
std::optional<std::int64_t> meminfo_bytes(const std::string& meminfo, std::string_view key) {
  const auto value = value_of(meminfo, key);
  if (!value) return std::nullopt;
  const auto kib = integer_from(value->substr(0, value->find(' ')));
  if (!kib || *kib < 0 || *kib > (std::int64_t{1} << 50)) return std::nullopt;
  return *kib * 1024;
}

// "64k", "24684084k", "2g", "1048576" as mount options write sizes.
std::optional<std::int64_t> mount_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int shift = 0;
  switch (std::tolower(static_cast<unsigned char>(text.back()))) {
    case 'k':
      shift = 10;
      break;
    case 'm':
      shift = 20;
      break;
    case 'g':
      shift = 30;
      break;
    default:
      break;
  }
  const auto value = integer_from(shift == 0 ? text : text.substr(0, text.size() - 1));
  if (!value || *value < 0 || *value > (std::int64_t{1} << (62 - shift))) return std::nullopt;
  return *value << shift;
}

// The last mount on /dev/shm counts; without a size option tmpfs takes half of the memory, which statvfs knows.
nlohmann::json shm_bytes(const Tree& tree) {
  nlohmann::json size = nullptr;
  const std::string mounts = tree.text("proc/self/mounts").value_or("");
  for (const std::string_view line : lines_of(mounts)) {
    const std::size_t at = line.find(" /dev/shm tmpfs ");
    if (at == std::string_view::npos) continue;
    const std::size_t option = line.find("size=", at);
    const std::string_view value = option == std::string_view::npos ? std::string_view() : line.substr(option + 5);
    size = known(mount_size(value.substr(0, value.find_first_of(", "))));
  }
  return size.is_null() ? known(tree.filesystem_bytes("dev/shm")) : size;
}

}  // namespace

nlohmann::json memory(const Tree& tree) {
  const std::string meminfo = tree.text("proc/meminfo").value_or("");
  const auto total = meminfo_bytes(meminfo, "MemTotal");
  const auto swap_total = meminfo_bytes(meminfo, "SwapTotal");
  const auto swap_free = meminfo_bytes(meminfo, "SwapFree");
  const std::int64_t limit = cgroup_memory_bytes(tree).value_or(0);
  const bool limited = limit > 0 && (!total || limit < *total);
  nlohmann::json facts = {{"memory_bytes", known(total)},
                          {"memory_available_bytes", known(meminfo_bytes(meminfo, "MemAvailable"))},
                          {"memory_limit_bytes", limited ? nlohmann::json(limit) : nlohmann::json(nullptr)},
                          {"swap_used_bytes", nullptr},
                          {"shm_bytes", shm_bytes(tree)}};
  if (swap_total && swap_free) facts["swap_used_bytes"] = *swap_total - *swap_free;
  return facts;
}

}  // namespace claimcheck::probe
