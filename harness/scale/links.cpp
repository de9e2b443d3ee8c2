#include "harness/scale/links.h"

#include "harness/judge/machine.h"

namespace claimcheck::scale {

bool has_nvlink(const Accelerator& accelerator) {
  return text_at(accelerator.record, "interconnect").starts_with("NVLink");
}

bool is_bridged(const Accelerator& accelerator) {
  return text_at(accelerator.record, "interconnect").find("bridge") != std::string::npos;
}

bool switch_adds(const Accelerator& accelerator) {
  const bool new_enough = accelerator.architecture == "Hopper" || accelerator.architecture.starts_with("Blackwell");
  return new_enough && has_nvlink(accelerator) && !is_bridged(accelerator);
}

}  // namespace claimcheck::scale
