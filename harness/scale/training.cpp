#include "harness/scale/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "harness/error.h"
#include "harness/nearest.h"

namespace claimcheck::scale {
namespace {

constexpr double backward_share = 2.0 / 3;
constexpr double least_parameters = 1e3;
constexpr double most_parameters = 1e13;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

double unit_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "m") return 1e6;
  if (suffix == "b") return 1e9;
  if (suffix == "t") return 1e12;
  return 0;
}

}  // namespace

const std::vector<TrainingModel>& training_presets() {
  static const std::vector<TrainingModel> presets = {{"125M", 125e6, 12, 768},  {"350M", 350e6, 24, 1024},
                                                     {"1.3B", 1.3e9, 24, 2048}, {"2.7B", 2.7e9, 32, 2560},
                                                     {"7B", 6.7e9, 32, 4096},   {"13B", 13e9, 40, 5140}};
  return presets;
}

TrainingModel training_model(std::string_view text) {
  std::vector<std::string> names;
  for (const TrainingModel& preset : training_presets()) {
    if (lower(preset.name) == lower(text)) return preset;
    names.push_back(preset.name);
  }
  const std::string word = lower(text);
  char* end = nullptr;
  const double number = word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) == 0
                            ? 0
                            : std::strtod(word.c_str(), &end) * unit_of(std::string_view(end));
  if (number >= least_parameters && number <= most_parameters) return {std::string(text), number, 0, 0};
  const std::string near = quoted_choice(nearest(text, names, 1));
  throw UserError(
      fmt::format("--model '{}' is neither a preset ({}) nor a number of parameters from 1e3 to 1e13 such as 3B{}",
                  text, fmt::join(names, ", "), near.empty() ? "" : "; did you mean " + near + "?"));
}

double flops_per_token(const TrainingModel& model, double sequence) {
  return 6 * model.parameters + 12.0 * model.layers * model.width * sequence;
}

Step training_step(double compute_seconds, const Gradients& gradients, const std::function<double(double)>& allreduce) {
  Step step;
  step.compute_seconds = compute_seconds;
  const double backward = compute_seconds * backward_share;
  const auto ready = [&](double bytes) { return gradients.overlap ? backward * bytes / gradients.bytes : backward; };
  const double full = std::floor(gradients.bytes / gradients.bucket_bytes);  // buckets
  double finished = 0;                                                       // since backward began
  if (full > 0) {
    // Equal buckets that become ready at equal distances queue either from the first or not at all.
    const double each = allreduce(gradients.bucket_bytes);
    finished = std::max(ready(gradients.bucket_bytes) + full * each, ready(full * gradients.bucket_bytes) + each);
    step.allreduce_seconds = full * each;
  }
  const double rest = gradients.bytes - full * gradients.bucket_bytes;
  if (rest > 0) {
    const double last = allreduce(rest);
    finished = std::max(finished, ready(gradients.bytes)) + last;
    step.allreduce_seconds += last;
  }
  step.exposed_seconds = std::max(0.0, finished - backward);
  return step;
}

}  // namespace claimcheck::scale
