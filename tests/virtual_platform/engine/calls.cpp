#include "tests/virtual_platform/engine/calls.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace virtual_platform {

namespace {

// CLAIMCHECK_VIRTUAL_FAIL, taken apart.
struct Order {
  std::string function;
  long number = 0;
  int code = 0;  // 0: the stand-in's own choice
};

Order order_from(const char* text) {
  Order order;
  if (text == nullptr || *text == '\0') return order;
  const std::string whole = text;
  const std::size_t colon = whole.find(':');
  char* end = nullptr;
  if (colon != std::string::npos) {
    order.function = whole.substr(0, colon);
    order.number = std::strtol(text + colon + 1, &end, 10);
    if (*end == ':') order.code = static_cast<int>(std::strtol(end + 1, &end, 10));
  }
  if (order.number < 1 || *end != '\0') {
    std::fprintf(stderr, "virtual platform: CLAIMCHECK_VIRTUAL_FAIL is '%s', expected FUNCTION:N[:CODE]\n", text);
    std::abort();
  }
  return order;
}

class Calls {
 public:
  void write() {
    const std::lock_guard lock(mutex_);
    const char* path = std::getenv("CLAIMCHECK_VIRTUAL_CALLS");
    if (path == nullptr || *path == '\0') return;
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr) {
      std::perror("virtual platform: CLAIMCHECK_VIRTUAL_CALLS");
      return;
    }
    for (const auto& [function, count] : counts_) std::fprintf(file, "%s %ld\n", function.c_str(), count);
    std::fclose(file);
  }

  int enter(const char* function, int code) {
    const std::lock_guard lock(mutex_);
    // The literal's address finds it next time; several literals may have one name.
    long*& count = by_literal_[function];
    if (count == nullptr) count = &counts_[function];
    ++*count;
    if (*count != order_.number || order_.function != function) return 0;
    return order_.code != 0 ? order_.code : code;
  }

 private:
  const Order order_ = order_from(std::getenv("CLAIMCHECK_VIRTUAL_FAIL"));
  std::mutex mutex_;
  std::map<std::string, long> counts_;
  std::map<const char*, long*> by_literal_;
};

}  // namespace

int fail_point(const char* function, int code) {
  // Never destroyed: destructors of the program may still call.
  static Calls& calls = *new Calls;
  static const int at_exit = std::atexit([] { calls.write(); });
  static_cast<void>(at_exit);
  return calls.enter(function, code);
}

}  // namespace virtual_platform
