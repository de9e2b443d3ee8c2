#include "tests/virtual_platform/emulator/companion.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace virtual_platform {

namespace {

CompanionKernels load() {
  const char* path = std::getenv("CLAIMCHECK_VIRTUAL_KERNELS");
  if (path == nullptr || *path == '\0') {
    std::fprintf(stderr, "virtual platform: CLAIMCHECK_VIRTUAL_KERNELS is not set; scripts/virtual.sh sets it\n");
    return {};
  }
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "virtual platform: CLAIMCHECK_VIRTUAL_KERNELS: %s\n", dlerror());
    return {};
  }
  const auto entry = reinterpret_cast<CompanionEntry>(dlsym(library, companion_symbol));
  if (entry == nullptr) {
    std::fprintf(stderr, "virtual platform: %s is no library of kernels made by companion.py\n", path);
    return {};
  }
  return entry();
}

}  // namespace

const CompiledKernel* find_kernel(const std::string& mangled_name) {
  static const auto& kernels = *[] {
    auto* map = new std::unordered_map<std::string, const CompiledKernel*>;
    const CompanionKernels all = load();
    for (std::size_t i = 0; i < all.count; ++i) (*map)[all.kernels[i].name] = &all.kernels[i];
    return map;
  }();
  const auto found = kernels.find(mangled_name);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace virtual_platform
