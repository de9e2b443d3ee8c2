// Memory bandwidth: the six kernels of STREAM and BabelStream on every device at once, far beyond the caches.
#include <fmt/format.h>

#include "bench/memory_load.h"

namespace claimcheck::bench {
namespace {

using kernels::MemoryKernel;

Prepared prepare(Setting& setting, MemoryKernel kernel) {
  const Options& options = setting.options;
  const auto sums = std::make_shared<ReferenceSums>();
  return prepared_from(std::make_shared<LoadRun>(
      setting, setting.platform.devices(), [&](kernels::Device& device, kernels::Stream& stream, std::size_t) {
        return make_memory_load(device, stream,
                                {.kernel = kernel,
                                 .wanted_bytes = wanted_bytes(setting.platform, device),
                                 .limit_bytes = memory_limit(device, 1, options.max_bytes),
                                 .seed = options.seed,
                                 .sums = sums});
      }));
}

// The kernels that tell most are in the quick profile: of a GPU the highest figure, the lowest, and the one quoted
// most.
bool is_quick(const kernels::Platform& platform, MemoryKernel kernel) {
  switch (kernel) {
    case MemoryKernel::read:
    case MemoryKernel::copy:
    case MemoryKernel::triad:
      return true;
    case MemoryKernel::write:
      return !is_gpu(platform);
    case MemoryKernel::scale:
    case MemoryKernel::add:
      break;
  }
  return false;
}

bool declare(MemoryKernel kernel, const char* formula, int priority) {
  const std::string id = fmt::format("memory.{}", to_string(kernel));
  return add({.id = id,
              .metric = id + ".gbps",
              .unit = "GB/s",
              .method = id + "/1",
              .summary = fmt::format("Memory bandwidth of every device at once, {}.", formula),
              .scope = Scope::each_device,
              .priority = priority,
              .setup_seconds = 1.5,
              .cases =
                  [kernel](kernels::Platform& platform, const Options&) {
                    return std::vector<Case>{{.label = "", .quick = is_quick(platform, kernel)}};
                  },
              .prepare = [kernel](Setting& setting) { return prepare(setting, kernel); }});
}

const bool declared = declare(MemoryKernel::triad, "c = a + s b", 1) && declare(MemoryKernel::read, "sum of a", 2) &&
                      declare(MemoryKernel::write, "c = s", 2) && declare(MemoryKernel::copy, "c = a", 2) &&
                      declare(MemoryKernel::scale, "c = s a", 2) && declare(MemoryKernel::add, "c = a + b", 2);

}  // namespace
}  // namespace claimcheck::bench
