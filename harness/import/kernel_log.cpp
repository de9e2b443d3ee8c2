// The kernel's log: dmesg, dmesg -T, journalctl -k, syslog and raw /dev/kmsg records. Only lines about GPUs and their
// links are taken; one event may go over several lines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/smi_keys.h"
#include "harness/import/xid_codes.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::size_t most_joined = 2000;  // characters of an event over several lines
constexpr std::size_t most_places = 64;
constexpr std::size_t most_events = 1000;

// Which sentences of the kernel and its helpers mean what, whatever the driver's version.
struct Sign {
  std::array<std::string_view, 2> words;  // all of them
  std::string_view id, severity, says, next_step;
};
constexpr std::string_view reboot = "Reboot; dmesg | grep NVRM says what came before; if it stays, return the machine.";
constexpr std::array signs = {
    Sign{{"RmInitAdapter failed", ""},
         "kernel.init_failed",
         "error",
         "the driver could not start the GPU (RmInitAdapter failed)",
         "Power-cycle the machine; check that this driver's branch and kind (open modules for Blackwell) know the GPU; "
         "else return it."},
    Sign{{"rm_init_adapter", "failed"},
         "kernel.init_failed",
         "error",
         "the driver could not start the GPU (RmInitAdapter failed)",
         "Power-cycle the machine; check that this driver's branch and kind (open modules for Blackwell) know the GPU; "
         "else return it."},
    Sign{{"Cannot initialize GSP firmware", ""},
         "kernel.init_failed",
         "error",
         "the driver could not start the GPU's system processor (GSP)",
         reboot},
    Sign{{"requires use of the NVIDIA open kernel modules", ""},
         "kernel.wrong_modules",
         "error",
         "this GPU needs the open kernel modules, and the closed ones are loaded",
         "Install the driver with its open kernel modules."},
    Sign{{"This PCI I/O region assigned to your NVIDIA device is invalid", ""},
         "kernel.no_memory_window",
         "error",
         "the firmware gave the GPU no window of PCIe memory (BAR)",
         "Above-4G decoding in the firmware; pci=realloc; a host's own setting in a virtual machine."},
    Sign{{"probe routine failed for", ""},
         "kernel.probe_failed",
         "error",
         "the driver did not take a GPU that the PCI bus shows",
         reboot},
    Sign{{"probe routine was not called for", ""},
         "kernel.probe_failed",
         "warning",
         "another driver holds a GPU",
         "lspci -k shows which (nouveau, vfio-pci); unload it."},
    Sign{{"API mismatch", ""},
         "kernel.version_mismatch",
         "error",
         "kernel module and libraries of the driver are of different versions (CUDA error 803)",
         "Reboot after the update; in a container take the compat library off the path."},
    Sign{{"peermem", "invalid context"},
         "kernel.peermem",
         "warning",
         "nvidia-peermem met an invalid context: GPUDirect RDMA may be broken since, which makes networks of GPUs slow",
         "Where busbw between nodes is low, this is the likely cause: restart the job, reload nvidia_peermem, or use "
         "DMA-BUF."},
    Sign{{"peermem", "nknown symbol"},
         "kernel.peermem",
         "warning",
         "nvidia-peermem could not be loaded: no GPUDirect RDMA by it",
         "Install it after the network driver (MLNX_OFED), or use DMA-BUF."},
    Sign{{"SXid", ", Fatal,"},
         "kernel.sxid_fatal",
         "error",
         "an NVSwitch met a fatal error",
         "Reset all GPUs and switches, or reboot; return the machine if it comes back."},
    Sign{{"SXid", "on-fatal"},
         "kernel.sxid",
         "warning",
         "an NVSwitch met an error that was not fatal",
         "Watch it: many of one link mean a bad link."},
    Sign{{"SXid", ""},
         "kernel.sxid",
         "warning",
         "an NVSwitch met an error",
         "Watch it: many of one link mean a bad link."},
    Sign{{"AER:", "Uncorrect"},
         "kernel.pcie_uncorrected",
         "error",
         "an error on the PCIe link could not be corrected",
         "Reseat or replace the card; return the machine."},
    Sign{{"AER:", "Corrected"},
         "kernel.pcie_corrected",
         "warning",
         "errors on the PCIe link were corrected, which costs bandwidth",
         "A few do not matter; many mean a bad riser, cable or slot."},
    Sign{{"AER:", "Multiple"},
         "kernel.pcie_corrected",
         "warning",
         "errors on the PCIe link were corrected, which costs bandwidth",
         "A few do not matter; many mean a bad riser, cable or slot."},
    Sign{{"limited by", "PCIe"},
         "kernel.pcie_limited",
         "warning",
         "a PCIe link came up narrower or slower than the device can do",
         "nvidia-smi -q -d PCI under load; ask the provider to reseat the card."},
    Sign{{"uvm encountered global fatal error", ""},
         "kernel.uvm_fatal",
         "error",
         "the driver's unified memory stopped after a fatal error: nothing runs until a reboot",
         reboot},
    Sign{{"NVRM: Out of memory", ""},
         "kernel.out_of_memory",
         "warning",
         "the driver found no memory",
         "Look at what used the host's memory then."},
};
// The fabric manager's own log and systemd's words on it.
constexpr std::array<std::string_view, 6> fabric_troubles = {"failed", "Failed",         "error",
                                                             "Error",  "not compatible", "doesn't match"};

bool has_all(std::string_view text, const Sign& sign) {
  return std::all_of(sign.words.begin(), sign.words.end(), [&](std::string_view word) { return contains(text, word); });
}

// The first PCI address of a line: "PCI:0000:9b:00", "GPU 0000:b3:00.0", "nvidia 0000:b3:00.0:", "(0000:01:00)".
std::optional<std::string> place_in(std::string_view text) {
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && std::isxdigit(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
    if (at - begin != 4 && at - begin != 8) continue;
    std::size_t end = at;
    while (end < text.size() &&
           (std::isxdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == ':' || text[end] == '.'))
      ++end;
    std::string_view word = text.substr(begin, end - begin);
    while (!word.empty() && (word.back() == ':' || word.back() == '.')) word.remove_suffix(1);
    if (word.size() >= 10)
      if (auto id = bus_id(word)) return id;
  }
  return std::nullopt;
}

// Of "NVRM: Xid (PCI:0000:9b:00): 119, pid=..." the number; older drivers lack "PCI:".
std::optional<int> xid_number(std::string_view text) {
  const std::size_t at = text.find("Xid (");
  if (at == std::string_view::npos || (at > 0 && text[at - 1] == 'S')) return std::nullopt;
  const std::size_t close = text.find("): ", at);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(close + 3);
  const auto value = number(rest.substr(0, rest.find_first_not_of("0123456789")));
  return value && *value < 10000 ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

// What a driver's line says behind the number, and what identifies nobody.
std::string said_of(std::string_view text) {
  const std::size_t close = text.find("): ");
  std::string_view rest = close == std::string_view::npos ? text : text.substr(close + 3);
  if (const std::size_t comma = rest.find(", "); comma != std::string_view::npos) rest = rest.substr(comma + 2);
  return std::string(trimmed(rest).substr(0, 200));
}

struct Event {
  Finding finding;
  int count = 0;
  std::set<std::string> places;
};

class KernelLog : public Reader {
 public:
  explicit KernelLog(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (continues(text)) return true;
    flush();
    const bool taken = event(text);
    around(text, taken);
    return taken;
  }

  void end(bool whole) override {
    flush();
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    report();
    if (amid_)
      collected_.invalid(
          fmt::format("the kernel reported \"{}\" among the lines of this file: what was measured meanwhile is void",
                      void_reason_));
  }

 private:
  // "               NVRM: fallen off the bus ...": no stamp, but blanks; of the event above.
  bool continues(std::string_view text) {
    if (joined_.empty()) return false;
    const std::size_t indent = text.find_first_not_of(" \t");
    const std::string_view rest = trimmed(text);
    const bool raw = text.starts_with(' ') && !contains(text, "NVRM:");  // /dev/kmsg: " KEY=value"
    if (indent == std::string_view::npos || raw) return false;
    std::string_view body = rest.starts_with("NVRM:") ? rest : std::string_view();
    // With a stamp of its own the continuation is indented behind it: "[ 1843.308] NVRM:   fallen ..."
    if (const auto behind = after(text, "NVRM:"); body.empty() && behind && indent == 0) {
      const std::size_t mark = text.find("NVRM:") + 5;
      const bool more = behind->starts_with("(PCI ID") || behind->starts_with("fallen off") ||
                        behind->starts_with("installed in") || text.substr(mark).starts_with("  ");
      if (!more) return false;
      body = text.substr(mark - 5);
    } else if (body.empty() || indent == 0) {
      return false;
    }
    if (joined_.size() < most_joined) joined_ += " " + std::string(trimmed(body.substr(5)));
    return true;
  }

  void flush() {
    if (joined_.empty()) return;
    const std::string text = std::exchange(joined_, {});
    if (contains(text, "fallen off the bus")) fallen_off(text);
  }

  void fallen_off(std::string_view text) {
    const auto place = place_in(text);
    // The sentence also follows an Xid 79 of the same GPU.
    const XidCode* xid = find_xid(79);
    keep("kernel.xid:79", xid->severity, fmt::format("Xid 79, told in words: {}", xid->meaning), xid->next_step, place,
         "fallen off the bus", 79);
  }

  bool event(std::string_view text) {
    if (const auto code = xid_number(text)) return xid(*code, text);
    if (contains(text, "NVRM: The NVIDIA GPU ")) {
      joined_ = text;
      return true;
    }
    if (contains(text, "fallen off the bus")) {
      fallen_off(text);
      return true;
    }
    for (const Sign& sign : signs) {
      if (!has_all(text, sign)) continue;
      keep(std::string(sign.id), sign.severity, std::string(sign.says), sign.next_step, place_in(text), text,
           std::nullopt);
      return true;
    }
    if (fabric(text)) return true;
    if (const auto version = after(text, "Kernel Module")) driver(text);
    // The driver's other lines tell nothing of a fault that has no line of its own.
    return contains(text, "NVRM:") || contains(text, "nvidia-nvlink") || contains(text, "nvidia-uvm") ||
           contains(text, "nvidia-modeset") || contains(text, "nvidia-nvswitch") || contains(text, "nvidia_peermem") ||
           contains(text, "nvidia-peermem");
  }

  bool fabric(std::string_view text) {
    const std::string plain = lower(text);
    if (!contains(plain, "fabricmanager") && !contains(plain, "fabric manager")) return false;
    const bool trouble = std::any_of(fabric_troubles.begin(), fabric_troubles.end(),
                                     [&](std::string_view word) { return contains(text, word); });
    if (trouble)
      keep(
          "kernel.fabric_manager", "error",
          "the fabric manager does not run as it should: without it GPUs with NVSwitches do not start (CUDA error 802)",
          "Install the fabric manager of the driver's own version and start it: systemctl status nvidia-fabricmanager.",
          std::nullopt, text, std::nullopt);
    return true;
  }

  void driver(std::string_view text) {
    const Fields words(text);
    for (std::size_t i = 1; i < words.size(); ++i)
      if (words[i].size() > 5 && std::isdigit(static_cast<unsigned char>(words[i][0])) != 0 &&
          std::count(words[i].begin(), words[i].end(), '.') >= 1 && words[i - 1] != "[" && !contains(words[i], "]") &&
          !contains(words[i], ":")) {
        collected_.system("/nvidia_driver", std::string(words[i]));
        return;
      }
  }

  bool xid(int code, std::string_view text) {
    const XidCode* known = find_xid(code);
    std::string_view severity = known == nullptr ? "warning" : known->severity;
    const std::string said = said_of(text);
    if (code >= 144 && code <= 150 && (contains(said, "Nonfatal") || contains(said, "Non-fatal"))) severity = "warning";
    keep(fmt::format("kernel.xid:{}", code), severity,
         known == nullptr ? fmt::format("Xid {}, which is not in the table of this program", code)
                          : fmt::format("Xid {}: {}", code, known->meaning),
         known == nullptr ? "Look it up in NVIDIA's Xid catalog." : known->next_step, place_in(text), said, code);
    return true;
  }

  void keep(const std::string& id, std::string_view severity, const std::string& says, std::string_view next_step,
            const std::optional<std::string>& place, std::string_view said, std::optional<int> code) {
    if (severity == "error") void_reason_ = says;
    const std::string key = id + " " + std::string(severity) + " " + place.value_or("");
    if (events_.size() >= most_events && events_.find(key) == events_.end()) {
      collected_.partial(fmt::format("more than {} different events of GPUs: the rest is left out", most_events));
      return;
    }
    Event& event = events_[key];
    if (event.count++ == 0) {
      event.finding = Finding{.id = place ? fmt::format("{}:{}", id, *place) : id,
                              .severity = std::string(severity),
                              .text = says,
                              .next_step = std::string(next_step),
                              .evidence = {{"said", std::string(said.substr(0, 200))}}};
      if (code) event.finding.evidence["xid"] = *code;
      if (place) event.finding.evidence["pci_bus_id"] = *place;
    }
    if (place && event.places.size() < most_places) event.places.insert(*place);
  }

  // Lines of other tools before and after it, and no heading between: it came while they ran.
  void around(std::string_view text, bool taken) {
    if (taken) {
      if (others_before_ && !void_reason_.empty()) pending_ = true;
      return;
    }
    const std::string_view rest = trimmed(text);
    if (rest.empty()) return;
    if (rest.starts_with("###") || rest.starts_with("===") || rest.starts_with("---")) {
      others_before_ = pending_ = false;
      return;
    }
    if (pending_) amid_ = true;
    others_before_ = true;
  }

  // "GPU 3 (0000:b3:00.0)" where the index is known.
  std::string name_of(const std::string& place) const {
    for (const auto& [index, device] : collected_.devices())
      if (bus_id(device.value(json::json_pointer("/facts/pci_bus_id"), std::string())) == place)
        return fmt::format("GPU {} ({})", index, place);
    return "GPU at " + place;
  }

  void report() {
    for (auto& [key, event] : events_) {
      std::string where;
      for (const std::string& place : event.places)
        where += (where.empty() ? "" : ", ") +
                 (key.starts_with("kernel.pcie") || key.starts_with("kernel.sxid") ? place : name_of(place));
      Finding finding = event.finding;
      finding.text = fmt::format("{}{}{}{}.", where.empty() ? "The kernel says: " : where + ": ", finding.text,
                                 event.count > 1 ? fmt::format(" ({} times)", event.count) : "",
                                 finding.severity == "error" ? "; any benchmark that it overlaps is void" : "");
      finding.evidence["count"] = event.count;
      collected_.add(std::move(finding));
    }
    if (events_.empty())
      collected_.note("the kernel's log names no fault of a GPU in the lines given; that says nothing of other times");
  }

  Collected& collected_;
  std::string joined_;
  std::map<std::string, Event> events_;
  std::string void_reason_;
  bool others_before_ = false;
  bool pending_ = false;
  bool amid_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_kernel_log(Collected& collected) { return std::make_unique<KernelLog>(collected); }

}  // namespace claimcheck::importing
