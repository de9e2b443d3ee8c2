#include "harness/evidence/left_out.h"

#include <fmt/format.h>

#include <charconv>

#include "harness/judge/machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// Where the next "GPU <number>: " begins, from `at` on; reasons may hold "; " themselves.
struct Mark {
  std::size_t begin = std::string::npos;
  std::size_t end = 0;
  int index = 0;
};

Mark next_mark(const std::string& text, std::size_t at) {
  constexpr std::string_view word = "GPU ";
  for (std::size_t begin = text.find(word, at); begin != std::string::npos; begin = text.find(word, begin + 1)) {
    if (begin > 0 && !text.substr(0, begin).ends_with("; ")) continue;
    Mark mark;
    const char* first = text.data() + begin + word.size();
    const char* last = text.data() + text.size();
    const auto [stop, error] = std::from_chars(first, last, mark.index);
    if (error != std::errc{} || last - stop < 2 || stop[0] != ':' || stop[1] != ' ') continue;
    mark.begin = begin;
    mark.end = static_cast<std::size_t>(stop + 2 - text.data());
    return mark;
  }
  return {};
}

}  // namespace

std::vector<LeftOut> left_out_devices(const Document& document) {
  const json software = document.system.value("software", json::object());
  const json worker = software.is_object() ? software.value("worker", json::object()) : json::object();
  const std::string text = text_at(worker, "left_out");
  std::vector<LeftOut> devices;
  for (Mark mark = next_mark(text, 0); mark.begin != std::string::npos;) {
    const Mark following = next_mark(text, mark.end);
    const std::size_t end = following.begin == std::string::npos ? text.size() : following.begin - 2;
    devices.push_back({mark.index, text.substr(mark.end, end - mark.end)});
    mark = following;
  }
  return devices;
}

std::string names_of(const std::vector<LeftOut>& devices) {
  std::string text = devices.size() == 1 ? "GPU" : "GPUs";
  for (std::size_t i = 0; i < devices.size(); ++i)
    text += fmt::format("{} {}", i == 0 ? "" : i + 1 == devices.size() ? " and" : ",", devices[i].index);
  return text;
}

std::vector<Finding> left_out_findings(const Document& document) {
  std::vector<Finding> findings;
  for (const LeftOut& device : left_out_devices(document)) {
    Finding finding;
    finding.id = fmt::format("gpu.left_out:{}", device.index);
    finding.severity = "error";
    finding.text = fmt::format("GPU {} did not start; the others were measured without it: {}{}", device.index,
                               device.reason, device.reason.ends_with('.') ? "" : ".");
    finding.next_step = fmt::format(
        "`nvidia-smi -i {}` and `dmesg | grep -i xid`; a reboot may bring it back, else return the machine: all of "
        "them "
        "are paid for.",
        device.index);
    finding.evidence = {{"device", device.index}, {"reason", device.reason}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace claimcheck
