// Which GPUs of the machine a CUDA process sees.
#include <algorithm>
#include <cctype>
#include <sstream>

#include "tests/virtual_platform/engine/spec.h"

namespace virtual_platform {
namespace {

bool is_instance(const Gpu& gpu) { return gpu.mig == "instance"; }

// Whole GPUs; where there are none, the first MIG instance: a process uses one only.
std::vector<int> enumerated(const Spec& machine) {
  std::vector<int> whole;
  std::vector<int> instances;
  for (std::size_t i = 0; i < machine.gpus.size(); i++)
    (is_instance(machine.gpus[i]) ? instances : whole).push_back(static_cast<int>(i));
  if (whole.empty() && !instances.empty()) instances.resize(1);
  return whole.empty() ? instances : whole;
}

// The GPU a word of CUDA_VISIBLE_DEVICES names: an index, or a UUID or the beginning of one that fits one GPU only.
int named(const Spec& machine, const std::vector<int>& by_index, const std::string& word) {
  if (word.empty()) return -1;
  if (std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
    const std::size_t index = word.size() > 6 ? by_index.size() : std::stoul(word);
    return index < by_index.size() ? by_index[index] : -1;
  }
  if (!word.starts_with("GPU-") && !word.starts_with("MIG-")) return -1;
  int found = -1;
  for (std::size_t i = 0; i < machine.gpus.size(); i++) {
    if (!machine.gpus[i].uuid.starts_with(word)) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

std::vector<int> visible_gpus(const Spec& machine, const char* chosen) {
  const std::vector<int> by_index = enumerated(machine);
  if (chosen == nullptr) return by_index;
  std::vector<int> visible;
  std::istringstream words(chosen);
  for (std::string word; std::getline(words, word, ',');) {
    const int gpu = named(machine, by_index, word);
    if (gpu < 0 || std::find(visible.begin(), visible.end(), gpu) != visible.end()) break;
    visible.push_back(gpu);
    if (is_instance(machine.gpus[static_cast<std::size_t>(gpu)])) return {gpu};
  }
  return visible;
}

}  // namespace virtual_platform
