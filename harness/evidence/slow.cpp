#include "harness/evidence/slow.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/evidence/symptoms.h"
#include "harness/judge/diagnosis_gpu.h"
#include "harness/judge/machine.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr std::size_t most_named = 4;  // metrics in a sentence; the evidence has all

// What a finding is about: symptoms of the same thing come together under its id.
struct Subject {
  std::string id;
  std::vector<Symptom> symptoms;
};

// "gemm.bf16" of "gemm.bf16.tflops".
std::string short_name(const std::string& metric) { return metric.substr(0, metric.rfind('.')); }

int devices_of_process(const Document& document, int process) {
  int count = 0;
  for (const json& device : document.system.value("devices", json::array()))
    if (static_cast<int>(number_at(device, "/facts/process").value_or(-1)) == process) ++count;
  return count;
}

// The device that a symptom is about; -1: a node, or a process with several devices.
int device_in(const Document& document, const Symptom& symptom) {
  if (symptom.part == Part::device) return symptom.index;
  if (symptom.part == Part::node || devices_of_process(document, symptom.index) != 1) return -1;
  return device_of(document, symptom.index, 0);
}

std::string bus_id(const Document& document, int device) {
  return text_at(device_facts(document, device), "pci_bus_id");
}

// "GPU 3 (0000:13:00.0, node 1)": numbers differ between tools, the bus does not.
std::string device_name(const Document& document, int device) {
  std::string more = bus_id(document, device);
  if (const auto node = number_at(device_facts(document, device), "/node"))
    more += fmt::format("{}node {:.0f}", more.empty() ? "" : ", ", *node);
  return fmt::format("GPU {}{}", device, more.empty() ? "" : " (" + more + ")");
}

std::string process_name(const Symptom& symptom) {
  for (const json& entry : symptom.measurement->evidence.value("processes", json::array())) {
    if (static_cast<int>(number_at(entry, "/process").value_or(-1)) != symptom.index) continue;
    return fmt::format("Process {} on node {:.0f}", symptom.index, number_at(entry, "/node").value_or(0));
  }
  return fmt::format("Process {}", symptom.index);
}

std::string name_of(const Document& document, const Symptom& symptom) {
  if (symptom.part == Part::node) return fmt::format("Node {}", symptom.index);
  const int device = device_in(document, symptom);
  return device >= 0 ? device_name(document, device) : process_name(symptom);
}

std::string id_of(const Document& document, const Symptom& symptom) {
  const bool node = symptom.part == Part::node;
  if (symptom.other >= 0)
    return fmt::format("{}.slow:{}-{}", node ? "network" : "link", std::min(symptom.index, symptom.other),
                       std::max(symptom.index, symptom.other));
  if (symptom.alone) return node ? "node.differ" : "gpu.differ";
  const int device = device_in(document, symptom);
  if (!node && device < 0) return fmt::format("process.slow:{}", symptom.index);
  return fmt::format("{}.slow:{}", node ? "node" : "gpu", node ? symptom.index : device);
}

std::vector<Subject> subjects_of(const Document& document) {
  std::vector<Subject> subjects;
  for (const Symptom& symptom : symptoms_of(document)) {
    const std::string id = id_of(document, symptom);
    auto known = std::find_if(subjects.begin(), subjects.end(), [&](const Subject& other) { return other.id == id; });
    if (known == subjects.end()) known = subjects.insert(subjects.end(), Subject{id, {}});
    known->symptoms.push_back(symptom);
  }
  for (Subject& subject : subjects)
    std::stable_sort(subject.symptoms.begin(), subject.symptoms.end(),
                     [](const Symptom& a, const Symptom& b) { return a.loss > b.loss; });
  return subjects;
}

// "30 % in gemm.bf16 (556 instead of 794 TFLOPS)"
std::string symptom_text(const Document& document, const Symptom& symptom, bool named) {
  return fmt::format("{}{} in {} ({} instead of {})", named ? name_of(document, symptom) + " by " : "",
                     percent_text(symptom.loss), short_name(symptom.measurement->metric), number_text(symptom.value),
                     quantity_text(symptom.usual, symptom.measurement->unit));
}

// Of two that differ, the sentence has to say which one lags where: not always the same one.
std::string symptoms_text(const Document& document, const Subject& subject) {
  const bool named = subject.symptoms.front().alone;
  std::string text;
  for (std::size_t i = 0; i < std::min(most_named, subject.symptoms.size()); ++i)
    text += (i == 0 ? "" : ", ") + symptom_text(document, subject.symptoms[i], named);
  const std::size_t rest = subject.symptoms.size() - std::min(most_named, subject.symptoms.size());
  return rest == 0 ? text : text + fmt::format(", and in {} more", rest);
}

// Sentences "WHY -> NEXT" of what the devices themselves say, each once.
std::vector<std::string> causes_of(const Document& document, const Subject& subject) {
  std::vector<std::string> causes;
  for (const Symptom& symptom : subject.symptoms) {
    const int device = device_in(document, symptom);
    if (device < 0) continue;
    Measurement facts_only;  // the sensors of other processes' devices are not in the result
    facts_only.devices = {{device, {}, std::nullopt}};
    const bool sensed = symptom.part == Part::device;
    for (std::string& cause : reasons_of_gpu(document, sensed ? *symptom.measurement : facts_only, device))
      if (std::find(causes.begin(), causes.end(), cause) == causes.end()) causes.push_back(std::move(cause));
  }
  return causes;
}

std::string why(const std::string& cause) { return cause.substr(0, cause.find(" -> ")); }

std::string next(const std::string& cause) {
  const std::size_t arrow = cause.find(" -> ");
  return arrow == std::string::npos ? std::string() : cause.substr(arrow + 4);
}

std::string headline_text(const Document& document, const Subject& subject) {
  const Symptom& first = subject.symptoms.front();
  const bool node = first.part == Part::node;
  const std::string list = symptoms_text(document, subject);
  if (first.other >= 0) {
    const std::string ends =
        node ? fmt::format("nodes {} and {}", first.index, first.other)
             : fmt::format("{} and {}", device_name(document, first.index), device_name(document, first.other));
    return fmt::format("The link between {} is slower than the others: {}.", ends, list);
  }
  if (first.alone)
    return fmt::format("The two {} differ: {}. Of two alone nobody can tell which one is as it should be.",
                       node ? "nodes" : "GPUs", list);
  return fmt::format("{} is slower than its peers: {}.", name_of(document, first), list);
}

std::string advice(const Document& document, const Subject& subject) {
  const Symptom& first = subject.symptoms.front();
  const bool node = first.part == Part::node;
  if (first.other >= 0)
    return node ? "Test the pair again; if it stays, look at the ports and cables between the two (`ibdiagnet`, "
                  "`ethtool -S`), or leave one of them out."
                : "`nvidia-smi nvlink -e` and `nvidia-smi topo -m`; ask the provider to look at the link.";
  if (first.alone)
    return node ? "Run on each alone with --instance, which compares with healthy machines of the kind; or add a third "
                  "node."
                : "Judge with --instance: typical values of the kind say which one is low.";
  if (node) return "Leave it out and measure again; ask the provider to replace it.";
  const std::string bus = bus_id(document, device_in(document, first));
  return fmt::format(
      "`nvidia-smi{} -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE,ECC`; ask the provider to replace it, or "
      "return the machine.",
      bus.empty() ? "" : " -i " + bus);
}

json evidence_of(const Document& document, const Subject& subject, const std::vector<std::string>& causes) {
  json measured = json::array();
  for (const Symptom& symptom : subject.symptoms)
    measured.push_back({{"metric", symptom.measurement->metric},
                        {"id", symptom.measurement->id},
                        {"value", symptom.value},
                        {"usual", symptom.usual},
                        {"unit", symptom.measurement->unit},
                        {"slower", symptom.loss}});
  json evidence = {{"measured", measured}};
  if (!causes.empty()) evidence["causes"] = causes;
  const Symptom& first = subject.symptoms.front();
  const int device = device_in(document, first);
  const bool node = first.part == Part::node;
  evidence[node ? "node" : device >= 0 ? "device" : "process"] = node || device < 0 ? first.index : device;
  if (first.other >= 0) evidence["other"] = first.other;
  if (device >= 0 && !bus_id(document, device).empty()) evidence["pci_bus_id"] = bus_id(document, device);
  return evidence;
}

Finding finding_of(const Document& document, const Subject& subject) {
  Finding finding;
  finding.id = subject.id;
  finding.severity = "warning";
  finding.text = headline_text(document, subject);
  const std::vector<std::string> causes = causes_of(document, subject);
  for (const std::string& cause : causes) {
    finding.text += " " + why(cause);
    const std::string step = next(cause);
    if (!step.empty() && finding.next_step.find(step) == std::string::npos)
      finding.next_step += (finding.next_step.empty() ? "" : " ") + step;
  }
  if (finding.next_step.empty()) finding.next_step = advice(document, subject);
  finding.evidence = evidence_of(document, subject, causes);
  return finding;
}

}  // namespace

std::vector<Finding> slow_findings(const Document& document) {
  std::vector<Finding> findings;
  for (const Subject& subject : subjects_of(document)) findings.push_back(finding_of(document, subject));
  return findings;
}

}  // namespace claimcheck
