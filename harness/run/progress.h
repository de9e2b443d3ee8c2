// What the user sees while a run measures: a bar with the time left on a terminal, one plain line a benchmark
// otherwise. All on stderr; stdout is for the answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "harness/result/measurement.h"

namespace claimcheck {

class Progress {
 public:
  Progress(std::size_t total, bool terminal) : total_(total), terminal_(terminal) {}

  void begin(const std::string& id, double seconds_left);
  void measured(const Measurement& measurement);  // a line for the first metric of a case, its own one
  void finished();                                // one benchmark more is done
  void note(const std::string& text);             // a line that stays
  void tick();                                    // redraws the bar; call a few times a second
  void clear();                                   // removes the bar

  static void write(const std::string& text);  // to stderr, whether or not somebody reads it

 private:
  using Clock = std::chrono::steady_clock;
  void line(const std::string& text);

  std::size_t total_;
  bool terminal_;
  std::size_t done_ = 0;
  std::string id_;
  std::string told_;  // the case that has its line
  double seconds_left_ = 0;
  Clock::time_point since_ = Clock::now();
  Clock::time_point drawn_{};
  bool bar_shown_ = false;
};

}  // namespace claimcheck
