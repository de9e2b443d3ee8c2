#include "kernels/host/watch.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "kernels/host/control_group.h"
#include "kernels/host/cpu.h"

namespace claimcheck::kernels::host {

namespace fs = std::filesystem;

namespace {

// Of /proc/stat, summed over the watched cores, in clock ticks.
struct CpuTime {
  double total = 0;
  double idle = 0;  // with waiting for disks
  double steal = 0;
};

CpuTime read_cpu_time(const fs::path& root, const std::vector<int>& cores) {
  CpuTime sum;
  std::ifstream in(root / "proc/stat");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("cpu", 0) != 0) break;
    std::istringstream fields(line.substr(3));
    int core = 0;
    if (line[3] == ' ' || !(fields >> core) || std::find(cores.begin(), cores.end(), core) == cores.end()) continue;
    // user nice system idle iowait irq softirq steal; guest times are within user
    std::array<double, 8> ticks{};
    for (double& tick : ticks) fields >> tick;
    sum.total += std::accumulate(ticks.begin(), ticks.end(), 0.0);
    sum.idle += ticks[3] + ticks[4];
    sum.steal += ticks[7];
  }
  return sum;
}

// Temperatures of the processor itself, by the names its drivers have on x86 and on ARM.
std::vector<fs::path> temperature_sensors(const fs::path& root) {
  std::vector<fs::path> sensors;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/hwmon", ignored)) {
    const std::string name = first_line(entry.path() / "name").value_or("");
    if (name == "coretemp" || name == "k10temp" || name == "zenpower") sensors.push_back(entry.path() / "temp1_input");
  }
  for (const auto& entry : fs::directory_iterator(root / "sys/class/thermal", ignored)) {
    const std::string type = first_line(entry.path() / "type").value_or("");
    if (type == "x86_pkg_temp" || type.rfind("cpu", 0) == 0) sensors.push_back(entry.path() / "temp");
  }
  return sensors;
}

// Clocks of the cores: cpufreq when the system has it. /proc/cpuinfo of a virtual machine repeats the nominal clock, so
// it is believed only where the CPU's counters (aperfmperf) are behind it.
class Clocks {
 public:
  Clocks(const fs::path& root, const std::vector<int>& cores) {
    constexpr std::size_t most = 16;  // reading a clock interrupts its core; a few cores show a throttled package
    const std::size_t step = (cores.size() + most - 1) / most;
    for (std::size_t i = 0; i < cores.size(); i += step) {
      const fs::path file =
          root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cores[i])) / "cpufreq/scaling_cur_freq";
      if (first_number(file)) files_.push_back(file);
    }
    if (!files_.empty()) return;
    const fs::path cpuinfo = root / "proc/cpuinfo";
    std::ifstream in(cpuinfo);
    for (std::string line; std::getline(in, line) && !line.empty();)
      if (line.rfind("flags", 0) == 0 && line.find(" aperfmperf") != std::string::npos) cpuinfo_ = cpuinfo;
  }

  bool known() const { return !files_.empty() || !cpuinfo_.empty(); }

  // The mean over cores, in MHz.
  std::optional<double> read() const {
    double sum = 0;
    int cores = 0;
    for (const fs::path& file : files_)
      if (const auto khz = first_number(file)) sum += static_cast<double>(*khz) / 1e3, ++cores;
    if (!cpuinfo_.empty()) {
      std::ifstream in(cpuinfo_);
      for (std::string line; std::getline(in, line);)
        if (line.rfind("cpu MHz", 0) == 0) sum += std::stod(line.substr(line.find(':') + 1)), ++cores;
    }
    if (cores == 0) return std::nullopt;
    return sum / cores;
  }

 private:
  std::vector<fs::path> files_;
  fs::path cpuinfo_;
};

struct Counters {
  std::chrono::steady_clock::time_point time;
  CpuTime cpu;
  std::optional<Throttling> throttling;
  long involuntary_switches = 0;
};

Counters read_counters(const fs::path& root, const std::vector<int>& cores, bool whole_machine) {
  Counters counters;
  counters.time = std::chrono::steady_clock::now();
  counters.cpu = read_cpu_time(root, cores);
  if (!whole_machine) return counters;
  counters.throttling = control_group_throttling(root);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  counters.involuntary_switches = usage.ru_nivcsw;
  return counters;
}

Fact fact_of(const std::optional<double>& value) { return value ? Fact(*value) : Fact(); }

std::optional<double> extreme(const std::vector<double>& samples, bool highest) {
  if (samples.empty()) return std::nullopt;
  return highest ? *std::max_element(samples.begin(), samples.end())
                 : *std::min_element(samples.begin(), samples.end());
}

std::optional<double> mean(const std::vector<double>& samples) {
  if (samples.empty()) return std::nullopt;
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

class HostWatch final : public Watch {
 public:
  HostWatch(std::vector<int> cores, bool whole_machine, const fs::path& root)
      : root_(root), cores_(std::move(cores)), whole_machine_(whole_machine), clocks_(root, cores_) {
    if (whole_machine_) sensors_ = temperature_sensors(root);
    start_ = read_counters(root_, cores_, whole_machine_);
    if (whole_machine_ && (clocks_.known() || !sensors_.empty()))
      sampler_ = std::jthread([this](const std::stop_token& stop) { sample_until(stop); });
  }

  Facts stop() override {
    if (sampler_.joinable()) {
      sampler_.request_stop();
      sampler_.join();
    }
    sample();  // so that a short watch has one, too
    const Counters end = read_counters(root_, cores_, whole_machine_);
    Facts facts = {{"watched_seconds", std::chrono::duration<double>(end.time - start_.time).count()},
                   {"cpu_clock_mhz", fact_of(mean(clock_mhz_))},
                   {"cpu_clock_lowest_mhz", fact_of(extreme(clock_mhz_, false))}};
    // Ticks are 10 ms: shares of a shorter time mean nothing.
    const double ticks = end.cpu.total - start_.cpu.total;
    const bool enough = ticks >= 2;
    facts.emplace_back("cpu_steal_share", enough ? Fact((end.cpu.steal - start_.cpu.steal) / ticks) : Fact());
    facts.emplace_back("cpu_idle_share", enough ? Fact((end.cpu.idle - start_.cpu.idle) / ticks) : Fact());
    if (whole_machine_) add_machine_facts(facts, end);
    return facts;
  }

 private:
  void sample_until(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      sample();
      // Waits for the stop, ten times a second.
      wake_.wait_for(lock, stop, std::chrono::milliseconds(100), [] { return false; });
    }
  }

  void sample() {
    if (const auto mhz = clocks_.read()) clock_mhz_.push_back(*mhz);
    for (const fs::path& sensor : sensors_)
      if (const auto millidegrees = first_number(sensor))
        temperatures_c_.push_back(static_cast<double>(*millidegrees) / 1e3);
  }

  void add_machine_facts(Facts& facts, const Counters& end) const {
    facts.emplace_back("package_temperature_highest_c", fact_of(extreme(temperatures_c_, true)));
    const std::string load = first_line(root_ / "proc/loadavg").value_or("");
    facts.emplace_back("load_average_1min", load.empty() ? Fact() : Fact(std::stod(load)));
    facts.emplace_back("involuntary_context_switches",
                       static_cast<std::int64_t>(end.involuntary_switches - start_.involuntary_switches));
    const bool known = end.throttling && start_.throttling;
    facts.emplace_back(
        "control_group_throttled_periods",
        known ? Fact(static_cast<std::int64_t>(end.throttling->periods - start_.throttling->periods)) : Fact());
    facts.emplace_back("control_group_throttled_seconds",
                       known ? Fact(end.throttling->seconds - start_.throttling->seconds) : Fact());
  }

  fs::path root_;
  std::vector<int> cores_;
  bool whole_machine_;
  Clocks clocks_;
  std::vector<fs::path> sensors_;
  Counters start_;
  std::vector<double> clock_mhz_;
  std::vector<double> temperatures_c_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread sampler_;  // last: it uses the others
};

}  // namespace

Facts sense_cores(const std::vector<int>& cores, bool whole_machine, const fs::path& root) {
  std::vector<double> temperatures_c;
  if (whole_machine)
    for (const fs::path& sensor : temperature_sensors(root))
      if (const auto millidegrees = first_number(sensor))
        temperatures_c.push_back(static_cast<double>(*millidegrees) / 1e3);
  return {{"cpu_clock_mhz", fact_of(Clocks(root, cores).read())},
          {"package_temperature_c", fact_of(extreme(temperatures_c, true))}};
}

std::unique_ptr<Watch> watch_cores(std::vector<int> cores, bool whole_machine, const fs::path& root) {
  return std::make_unique<HostWatch>(std::move(cores), whole_machine, root);
}

}  // namespace claimcheck::kernels::host
