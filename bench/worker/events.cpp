#include "bench/worker/events.h"

#include <unistd.h>

#include <cerrno>

namespace claimcheck::bench {

void Events::hello(std::string_view worker, bool is_virtual) {
  print("hello", {{"schema_version", "1.0"}, {"worker", worker}, {"pid", getpid()}, {"virtual", is_virtual}});
}

void Events::begin(const std::string& id) { print("begin", {{"id", id}}); }

void Events::heartbeat(const std::string& id, std::string_view phase) {
  const auto now = std::chrono::steady_clock::now();
  const std::string key = id + ' ' + std::string(phase);
  if (key == last_phase_ && now - last_heartbeat_ < std::chrono::seconds(1)) return;
  last_phase_ = key;
  last_heartbeat_ = now;
  print("heartbeat", {{"id", id}, {"phase", phase}});
}

void Events::measurement(nlohmann::json measurement) {
  print("measurement", {{"measurement", std::move(measurement)}});
}

void Events::end(const std::string& id) { print("end", {{"id", id}}); }

void Events::bye(int measured) { print("bye", {{"measured", measured}}); }

void Events::print(std::string_view event, nlohmann::json fields) const {
  fields["event"] = event;
  // Messages of a library may hold anything; an event is always valid UTF-8.
  raw("@claimcheck " + fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void Events::raw(std::string_view bytes) const {
  if (!on_) return;
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    // Nobody reads any more: the harness is gone, and so is the reason to measure on.
    if (written < 0) _exit(1);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace claimcheck::bench
