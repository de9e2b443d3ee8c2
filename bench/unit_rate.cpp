#include "bench/unit_rate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace claimcheck::bench {

std::int64_t find_steps(Setting& setting, std::int64_t most,
                        const std::function<void(kernels::Stream& stream, std::int64_t steps)>& enqueue) {
  // Of the host's clock, for one launch: an emulated device takes far longer than it says, and is given shorter ones.
  constexpr double patience = 1;
  const double wanted = wanted_seconds(setting.options);
  Lanes lanes(setting.platform, setting.platform.devices().first(1),
              kernels::Duration(setting.options.deadline_seconds));
  std::int64_t steps = std::min<std::int64_t>(16, most);
  for (int round = 0; round < 6; ++round) {
    double seconds = 0;
    // The smaller one: a launch that another program held up says nothing about the device.
    double host_seconds = std::numeric_limits<double>::infinity();
    // The first of a kind also loads code.
    for (int i = 0; i < 2; ++i) {
      const auto start = std::chrono::steady_clock::now();
      seconds = lanes.run([&](std::size_t, kernels::Stream& stream) { enqueue(stream, steps); })[0];
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      host_seconds = std::min(host_seconds, taken.count());
    }
    if (seconds >= 0.8 * wanted || steps >= most) break;
    // Not far at once: a short launch says little about the rate.
    const double factor = std::min(std::clamp(wanted / std::max(seconds, 1e-9), 1.25, 32.0), patience / host_seconds);
    if (factor < 1.25) break;
    steps = std::min(most, static_cast<std::int64_t>(std::ceil(static_cast<double>(steps) * factor)));
  }
  return static_cast<std::int64_t>(setting.world.max(static_cast<double>(steps)));
}

std::vector<std::size_t> sampled_groups(std::size_t count, std::size_t size, std::size_t groups, std::uint64_t seed) {
  const std::size_t whole = (count + size - 1) / size;
  std::set<std::size_t> chosen = {0, whole - 1};
  std::mt19937_64 random(seed);
  if (whole <= groups) {
    for (std::size_t i = 0; i < whole; ++i) chosen.insert(i);
  } else {
    while (chosen.size() < groups) chosen.insert(random() % whole);
  }
  std::vector<std::size_t> firsts;
  for (const std::size_t group : chosen) firsts.push_back(group * size);
  return firsts;
}

}  // namespace claimcheck::bench
