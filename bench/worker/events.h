// The event lines of docs/architecture.md: "@claimcheck " and one JSON object, each with one write(2), so that lines
// survive a crash right after, and do not mix with what other processes write.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace claimcheck::bench {

class Events {
 public:
  // Off: prints nothing. `file` is a descriptor, stdout's by default.
  explicit Events(bool on, int file = 1) : on_(on), file_(file) {}

  void hello(std::string_view worker, bool is_virtual);
  void begin(const std::string& id);
  // A phase's first is always printed, further ones at most one a second.
  void heartbeat(const std::string& id, std::string_view phase);
  void measurement(nlohmann::json measurement);
  void end(const std::string& id);
  void bye(int measured);

  // Bytes as they are, for the tests' garbage.
  void raw(std::string_view bytes) const;

 private:
  void print(std::string_view event, nlohmann::json fields) const;

  bool on_;
  int file_;
  std::string last_phase_;
  std::chrono::steady_clock::time_point last_heartbeat_{};
};

}  // namespace claimcheck::bench
