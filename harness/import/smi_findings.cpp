// What nvidia-smi says is wrong beyond what docs/findings.md tells of the same facts when a result is judged.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "harness/import/smi_gpus.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr double most_retired_pages =
    60;                                  // NVIDIA's limit for an exchange: GPU Memory Error Management, page retirement
constexpr double many_corrected = 1000;  // where others have next to none

class Judge {
 public:
  Judge(const SmiGpu& gpu, Collected& collected) : gpu_(gpu), collected_(collected) {}

  double number(const char* key) const {
    const auto found = gpu_.facts.find(key);
    return found != gpu_.facts.end() && found->is_number() ? found->get<double>() : 0;
  }
  bool flag(const char* key) const { return gpu_.facts.value(key, json()) == true; }
  std::string text(const char* key) const {
    const json found = gpu_.facts.value(key, json());
    return found.is_string() ? found.get<std::string>() : std::string();
  }
  void say(const char* id, const char* severity, const std::string& what, const char* next_step,
           json evidence = json::object()) {
    evidence["device"] = gpu_.index.value_or(gpu_.place);
    if (!gpu_.bus.empty()) evidence["pci_bus_id"] = gpu_.bus;
    collected_.add(Finding{.id = fmt::format("{}:{}", id, gpu_.index.value_or(gpu_.place)),
                           .severity = severity,
                           .text = gpu_.name() + " " + what,
                           .next_step = next_step,
                           .evidence = std::move(evidence)});
  }
  const SmiGpu& gpu() const { return gpu_; }

 private:
  const SmiGpu& gpu_;
  Collected& collected_;
};

bool does_not_answer(Judge& judge) {
  const std::string& sick = judge.gpu().sick;
  if (sick.empty()) return false;
  const json evidence = {{"said", sick}};
  if (sick == "GPU is lost")
    judge.say("smi.gpu_lost", "error", "is lost: it no longer answers on the PCIe bus.",
              "dmesg | grep -i xid (79: fallen off the bus); power-cycle the machine, else return it.", evidence);
  else if (sick == "GPU requires reset" || sick == "Reset Required")
    judge.say("smi.reset", "error", fmt::format("answers \"{}\": nothing can be measured on it before.", sick),
              "Reboot, or have the provider reset the GPU; dmesg | grep -i xid says why.", evidence);
  else
    judge.say("smi.gpu_error", "error",
              fmt::format("answers \"{}\" in place of values: it does not work, and counts in no statistic.", sick),
              "dmesg | grep -iE 'xid|nvrm'; reboot, else return the machine.", evidence);
  return true;
}

void bad_pages(Judge& judge) {
  const double pages = judge.number("retired_pages_single_bit") + judge.number("retired_pages_double_bit");
  const json evidence = {{"single_bit", judge.number("retired_pages_single_bit")},
                         {"double_bit", judge.number("retired_pages_double_bit")},
                         {"pending", judge.flag("retired_pages_pending")}};
  if (judge.flag("retired_pages_pending") || judge.flag("row_remap_pending"))
    judge.say(
        "smi.reset_pending", "error",
        fmt::format(
            "has bad memory that is taken out of use only at its next reset ({:.0f} pages after single, {:.0f} after "
            "double bit errors): no benchmark before that counts.",
            judge.number("retired_pages_single_bit"), judge.number("retired_pages_double_bit")),
        "Reboot, or have the provider reset the GPU; then measure again.", evidence);
  if (pages >= most_retired_pages)
    judge.say("smi.replace", "error",
              fmt::format("has {:.0f} retired pages of memory, {:.0f} after single and {:.0f} after double bit errors; "
                          "from {:.0f} on "
                          "a GPU is to be replaced.",
                          pages, judge.number("retired_pages_single_bit"), judge.number("retired_pages_double_bit"),
                          most_retired_pages),
              "Return the machine.", evidence);
  if (judge.flag("row_remap_failed"))
    judge.say("smi.replace_rows", "error", "could not replace a bad row of its memory: its spare rows are used up.",
              "Return the machine: this GPU is to be replaced.");
}

// The volatile counter: since the driver was loaded. What was wrong before that is history.
void uncorrected(Judge& judge) {
  const double errors = judge.number("ecc_uncorrected");
  if (!(errors > 0)) return;
  judge.say("smi.ecc_uncorrected", "error",
            fmt::format("had {:.0f} memory errors that could not be corrected since its driver was loaded: results of "
                        "that time do not count.",
                        errors),
            "dmesg | grep -i xid (48, 63, 64, 94, 95); reset the GPU and measure again; return it if they come back.",
            {{"ecc_uncorrected", errors}});
}

void held_back(Judge& judge) {
  const std::string list = "," + judge.gpu().now.value("throttle_reasons", std::string()) + ",";
  std::string names;
  for (const char* fault : {"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake", "sw_thermal_slowdown"})
    if (list.find(fmt::format(",{},", fault)) != std::string::npos)
      names += (names.empty() ? "" : ", ") + std::string(fault);
  if (!names.empty())
    judge.say("smi.slowdown", "error",
              fmt::format("was slowed down by heat or hardware when nvidia-smi looked ({}).", names),
              "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER under load; ask the provider about cooling and power.",
              {{"reasons", names}});
  const double clock = judge.number("application_clock_mhz");
  const double usual = judge.number("application_clock_default_mhz");
  if (clock > 0 && usual > 0 && clock != usual)
    judge.say("smi.application_clocks", "info",
              fmt::format(
                  "has application clocks of {:.0f} MHz; the default is {:.0f} MHz: results do not compare with stock.",
                  clock, usual),
              "nvidia-smi -rac, as root, sets them back.",
              {{"application_clock_mhz", clock}, {"application_clock_default_mhz", usual}});
}

void states(Judge& judge) {
  const std::string action = judge.text("recovery_action");
  if (!action.empty() && lower(action) != "none")
    judge.say("smi.recovery", "error", fmt::format("asks for recovery: \"{}\".", action),
              "Do what it asks (reset, reboot, drain), then measure again; dmesg | grep -i xid says why.",
              {{"action", action}});
  if (judge.flag("reset_required"))
    judge.say("smi.reset", "error", "requires a reset.", "Reboot, or have the provider reset the GPU.");
  const std::string health = judge.text("fabric_health");
  const std::string status = judge.text("fabric_status");
  if (health == "unhealthy" || health == "limited_capacity" || judge.flag("fabric_route_unhealthy") ||
      (judge.text("fabric_state") == "completed" && !status.empty() && status != "success"))
    judge.say("smi.fabric", "error",
              fmt::format("has an NVLink fabric that is not well (status {}, health {}).",
                          status.empty() ? "unknown" : status, health.empty() ? "unknown" : health),
              "systemctl status nvidia-fabricmanager; ask the provider: a switch or a link may be out of service.");
  const std::string license = lower(judge.text("license_status"));
  if (license.starts_with("unlicensed"))
    judge.say("smi.unlicensed", "warning", "is a vGPU without a license: its driver slows it down after a while.",
              "Ask the provider for the license server; measurements before that do not show what was sold.");
}

void setup(Judge& judge, Collected& collected) {
  const std::string virtualization = judge.text("virtualization");
  if (virtualization == "vgpu")
    judge.say("smi.vgpu", "info",
              fmt::format("is a vGPU{}: a share of a GPU, whose temperature, power and PCIe link it does not show; "
                          "whether it is held back cannot be told.",
                          judge.text("licensed_product").empty() ? "" : " (" + judge.text("licensed_product") + ")"),
              "Judge it by its share of units, memory and bandwidth, and by what the whole card would be.");
  if (judge.flag("mig_enabled") || !judge.gpu().slices.empty())
    judge.say("smi.mig", "warning",
              fmt::format("is cut into MIG instances ({} of them seen): figures of the whole card do not apply to one, "
                          "its load is not "
                          "available, and instances do not reach each other by P2P or NVLink, so claims of several "
                          "GPUs cannot be judged on them.",
                          judge.gpu().slices.size()),
              "A process sees one instance only; measure on it, or have MIG switched off (nvidia-smi -mig 0).",
              {{"instances", judge.gpu().slices}});
  if (lower(judge.text("driver_model")) == "wddm")
    judge.say("smi.wddm", "warning",
              "runs under Windows' display driver model (WDDM): launches are slower, memory of processes is unknown.",
              "Switch it to TCC or MCDM where the card has it (nvidia-smi -dm), or measure under Linux.");
  if (judge.flag("display_active") && virtualization.empty())
    judge.say("smi.display", "info", "drives a display: results are not of a GPU that does nothing else.",
              "Measure without a desktop on it.");
  if (judge.flag("fabric_spans_machines"))
    collected.note(fmt::format(
        "{} is in an NVLink domain over several machines (clique {:.0f}): nodes are of one domain only where "
        "cluster UUID and clique agree",
        judge.gpu().name(), judge.number("fabric_clique")));
}

// The counters of one GPU in a later output, or a later file, against an earlier one.
void grown(Judge& judge, const json& before) {
  for (const char* key : {"row_remaps_correctable", "row_remaps_uncorrectable", "retired_pages_single_bit",
                          "retired_pages_double_bit", "ecc_uncorrected_lifetime"}) {
    const auto old = before.find(key);
    if (old == before.end() || !old->is_number() || !judge.gpu().facts.contains(key)) continue;
    const double now = judge.number(key);
    if (now <= old->get<double>()) continue;
    judge.say(
        "smi.memory_worse", "error",
        fmt::format(
            "lost more memory between two looks at it: {} rose from {:.0f} to {:.0f}, whatever the benchmarks say.",
            key, old->get<double>(), now),
        "Return the machine: memory that goes bad while it works does not stop doing so.",
        {{"counter", key}, {"before", *old}, {"after", now}});
  }
}

std::string number_list(const std::vector<const SmiGpu*>& gpus) {
  std::string text;
  for (const SmiGpu* gpu : gpus) text += (text.empty() ? "" : ", ") + gpu->name();
  return text;
}

double of(const SmiGpu& gpu, const char* key) {
  const auto found = gpu.facts.find(key);
  return found != gpu.facts.end() && found->is_number() ? found->get<double>() : -1;
}

// GPUs of one name in one output, held to different power limits.
void unequal_limits(const std::deque<SmiGpu>& gpus, Collected& collected) {
  double most = -1;
  for (const SmiGpu& gpu : gpus) most = std::max(most, of(gpu, "power_limit_w"));
  std::vector<const SmiGpu*> low;
  double limit = most;
  for (const SmiGpu& gpu : gpus) {
    const double own = of(gpu, "power_limit_w");
    const bool alike = gpu.entry.value("name", json()) == gpus.front().entry.value("name", json());
    if (!alike) return;
    if (own <= 0 || own > 0.97 * most) continue;
    if (std::none_of(low.begin(), low.end(), [&](const SmiGpu* one) { return one->index == gpu.index; }))
      low.push_back(&gpu);
    limit = std::min(limit, own);
  }
  if (low.empty()) return;
  collected.add(Finding{
      .id = "smi.power_limits_differ",
      .severity = "warning",
      .text = fmt::format("GPUs of one kind are held to different power limits: {} to {:.0f} W, others to {:.0f} W.",
                          number_list(low), limit, most),
      .next_step = "nvidia-smi -q -d POWER; ask the provider to set the limits back to the default.",
      .evidence = {{"lowest_w", limit}, {"highest_w", most}}});
}

void unequal_errors(const std::deque<SmiGpu>& gpus, Collected& collected) {
  std::vector<const SmiGpu*> many;
  std::size_t clean = 0;
  double most = 0;
  for (const SmiGpu& gpu : gpus) {
    const double errors = std::max(of(gpu, "ecc_corrected_lifetime"), of(gpu, "ecc_corrected"));
    if (errors >= many_corrected) many.push_back(&gpu);
    if (errors >= 0 && errors < many_corrected / 100) ++clean;
    most = std::max(most, errors);
  }
  if (many.empty() || (clean == 0 && gpus.size() > 1)) return;
  collected.add(
      Finding{.id = "smi.corrected_errors",
              .severity = "warning",
              .text = fmt::format(
                  "{} had up to {:.0f} memory errors that were corrected{}: suspect, even while all results are right.",
                  number_list(many), most, gpus.size() > 1 ? ", others next to none" : ""),
              .next_step = "Look at the counter again after a run; return the machine if it rises.",
              .evidence = {{"errors", most}}});
}

}  // namespace

void smi_findings(const std::deque<SmiGpu>& gpus, Collected& collected) {
  std::map<int, json> seen;
  for (const auto& [index, device] : collected.devices()) seen[index] = device.value("facts", json::object());
  for (const SmiGpu& gpu : gpus) {
    Judge judge(gpu, collected);
    if (does_not_answer(judge)) continue;
    bad_pages(judge);
    uncorrected(judge);
    held_back(judge);
    states(judge);
    setup(judge, collected);
    json& before = seen[*gpu.index];
    grown(judge, before);
    before.update(gpu.facts);
  }
  if (gpus.empty()) return;
  unequal_limits(gpus, collected);
  unequal_errors(gpus, collected);
}

void forward_compatibility(const std::string& driver, const std::string& cuda, Collected& collected) {
  // The CUDA of a driver branch: CUDA Toolkit release notes, table of toolkits and drivers.
  constexpr std::array<std::array<double, 2>, 20> native = {
      {{450, 11.0}, {455, 11.1}, {460, 11.2}, {465, 11.3}, {470, 11.4}, {495, 11.5}, {510, 11.6},
       {515, 11.7}, {520, 11.8}, {525, 12.0}, {530, 12.1}, {535, 12.2}, {545, 12.3}, {550, 12.4},
       {555, 12.5}, {560, 12.6}, {565, 12.7}, {570, 12.8}, {575, 12.9}, {580, 13.0}}};
  const double branch = std::floor(std::atof(driver.c_str()));
  const double shown = std::atof(cuda.c_str());
  for (const auto& [number, version] : native) {
    if (branch != number || shown <= version + 0.05) continue;
    collected.add(Finding{
        .id = "smi.forward_compatibility",
        .severity = "info",
        .text = fmt::format("CUDA {} is shown with driver {}, whose own is {:.1f}: nvidia-smi loaded a newer libcuda "
                            "(forward compatibility), so the CUDA version does not tell the driver's branch.",
                            cuda, driver, version),
        .next_step = "Fine on data-centre GPUs; where programs fail with error 803 or 804, take cuda-compat off the "
                     "library path.",
        .evidence = {{"driver", driver}, {"cuda", cuda}}});
  }
}

}  // namespace claimcheck::importing
