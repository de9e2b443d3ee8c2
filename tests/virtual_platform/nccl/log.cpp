#include "tests/virtual_platform/nccl/log.h"

#include <fmt/format.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>

namespace virtual_platform::nccl {
namespace {

constexpr unsigned bootstrap_and_env = 0x40 | 0x80;
constexpr unsigned usual = log_init | bootstrap_and_env;

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const std::string whole(name);
  return whole.substr(0, whole.find('.'));
}

unsigned subsystems_asked_for() {
  const char* text = std::getenv("NCCL_DEBUG_SUBSYS");
  if (text == nullptr) return usual;
  unsigned asked = 0;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (strcasecmp(word.c_str(), "INIT") == 0) asked |= log_init;
    if (strcasecmp(word.c_str(), "P2P") == 0) asked |= log_p2p;
    if (strcasecmp(word.c_str(), "NET") == 0) asked |= log_net;
    if (strcasecmp(word.c_str(), "TUNING") == 0) asked |= log_tuning;
    if (strcasecmp(word.c_str(), "ALL") == 0) asked = ~0U;
  }
  return asked;
}

std::string file_name(const std::string& pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); i++) {
    const bool special = pattern[i] == '%' && i + 1 < pattern.size();
    if (special && pattern[i + 1] == 'h')
      name += host_name();
    else if (special && pattern[i + 1] == 'p')
      name += std::to_string(getpid());
    else if (special && pattern[i + 1] == '%')
      name += '%';
    else {
      name += pattern[i];
      continue;
    }
    i++;
  }
  return name;
}

struct Log {
  Log() {
    const char* level = std::getenv("NCCL_DEBUG");
    if (level == nullptr) return;
    informs = strcasecmp(level, "INFO") == 0 || strcasecmp(level, "TRACE") == 0;
    subsystems = subsystems_asked_for();
    const char* name = std::getenv("NCCL_DEBUG_FILE");
    if (!informs || name == nullptr) return;
    if (std::FILE* opened = std::fopen(file_name(name).c_str(), "w")) {
      file = opened;
      std::setvbuf(file, nullptr, _IOLBF, 0);
    }
  }

  bool informs = false;
  unsigned subsystems = 0;
  std::FILE* file = stdout;
  std::mutex mutex;
};

}  // namespace

void info(unsigned subsystems, int device, const std::string& text) {
  static auto* log = new Log;
  if (!log->informs || (log->subsystems & subsystems) == 0) return;
  const std::lock_guard lock(log->mutex);
  std::fputs(
      fmt::format("{}:{}:{} [{}] NCCL INFO {}\n", host_name(), getpid(), syscall(SYS_gettid), device, text).c_str(),
      log->file);
}

}  // namespace virtual_platform::nccl
