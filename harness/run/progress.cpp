#include "harness/run/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

constexpr int bar_width = 30;
constexpr std::chrono::milliseconds redraw_every{200};

}  // namespace

void Progress::line(const std::string& text) {
  clear();
  write(sanitised_text(text) + "\n");
}

// Nobody need be there to read it: a closed terminal or pipe is no reason to stop measuring.
void Progress::write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void Progress::begin(const std::string& id, double seconds_left) {
  id_ = id;
  seconds_left_ = seconds_left;
  since_ = Clock::now();
  drawn_ = {};
  tick();
}

void Progress::measured(const Measurement& measurement) {
  if (measurement.id == told_) return;  // further metrics of the same case
  told_ = measurement.id;
  const std::string where = fmt::format("[{:>{}}/{}] {:<34}", std::min(done_ + 1, total_),
                                        fmt::formatted_size("{}", total_), total_, measurement.id);
  if (measurement.status == Outcome::ok && measurement.value) {
    if (!terminal_) line(fmt::format("{} {:.4g} {}", where, *measurement.value, measurement.unit));
    return;
  }
  line(fmt::format("{} {}: {}", where, to_string(measurement.status), measurement.reason));
}

void Progress::finished() {
  ++done_;
  drawn_ = {};
}

void Progress::note(const std::string& text) { line(text); }

void Progress::tick() {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now - drawn_ < redraw_every) return;
  drawn_ = now;
  const double left = std::max(0.0, seconds_left_ - std::chrono::duration<double>(now - since_).count());
  const auto seconds = static_cast<int>(left + 0.5);
  const int filled = total_ == 0 ? 0 : static_cast<int>(bar_width * done_ / total_);
  write(fmt::format("\r\033[K [{}{}] {:>3}/{}  {:<34.34} {}:{:02} left",
                    std::string(static_cast<std::size_t>(filled), '#'),
                    std::string(static_cast<std::size_t>(bar_width - filled), '-'), done_, total_, sanitised_text(id_),
                    seconds / 60, seconds % 60));
  bar_shown_ = true;
}

void Progress::clear() {
  if (!bar_shown_) return;
  write("\r\033[K");
  bar_shown_ = false;
}

}  // namespace claimcheck
