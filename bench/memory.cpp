// Memory bandwidth: the six kernels of STREAM and BabelStream on every device at once, far beyond the caches.
#include <fmt/format.h>

#include "bench/memory_load.h"

namespace claimcheck::bench {
namespace {

using kernels::MemoryKernel;

Prepared prepare(Setting& setting, MemoryKernel kernel) {
  const Options& options = setting.options;
  return prepared_from(std::make_shared<LoadRun>(
      setting, setting.platform.devices(), [&](kernels::Device& device, kernels::Stream& stream, std::size_t lane) {
        return make_memory_load(device, stream, kernel, memory_limit(device, 1, options.max_bytes),
                                options.seed + 1000 * lane);
      }));
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
              .quick = kernel != MemoryKernel::scale && kernel != MemoryKernel::add,
              .setup_seconds = 1.5,
              .prepare = [kernel](Setting& setting) { return prepare(setting, kernel); }});
}

const bool declared = declare(MemoryKernel::triad, "c = a + s b", 1) && declare(MemoryKernel::read, "sum of a", 2) &&
                      declare(MemoryKernel::write, "c = s", 2) && declare(MemoryKernel::copy, "c = a", 2) &&
                      declare(MemoryKernel::scale, "c = s a", 2) && declare(MemoryKernel::add, "c = a + b", 2);

}  // namespace
}  // namespace claimcheck::bench
