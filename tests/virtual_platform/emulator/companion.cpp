#include "tests/virtual_platform/emulator/companion.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

namespace virtual_platform {

namespace {

using KernelMap = std::unordered_map<std::string_view, const CompiledKernel*>;

const char* companion_path() {
  const char* path = std::getenv("CLAIMCHECK_VIRTUAL_KERNELS");
  if (path != nullptr && *path != '\0') return path;
  std::fprintf(stderr, "virtual platform: CLAIMCHECK_VIRTUAL_KERNELS is not set; scripts/virtual.sh sets it\n");
  return nullptr;
}

KernelMap load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "virtual platform: CLAIMCHECK_VIRTUAL_KERNELS: %s\n", dlerror());
    return {};
  }
  const auto entry = reinterpret_cast<CompanionEntry>(dlsym(library, companion_symbol));
  if (entry == nullptr) {
    std::fprintf(stderr, "virtual platform: %s is no library of kernels made by companion.py\n", path.c_str());
    return {};
  }
  KernelMap kernels;
  const CompanionKernels all = entry();
  for (std::size_t i = 0; i < all.count; ++i) kernels[all.kernels[i].name] = &all.kernels[i];
  return kernels;
}

struct Companion {
  Companion() {
    const char* path = companion_path();
    if (path == nullptr) return;
    checked = load(path);
    const std::string stem = std::string(path).substr(0, std::string(path).rfind(".so"));
    const std::string second = stem + "_unchecked.so";
    if (access(second.c_str(), R_OK) == 0) unchecked = load(second);
  }
  KernelMap checked;
  KernelMap unchecked;
};

const CompiledKernel* find(const KernelMap& kernels, std::string_view name) {
  const auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : found->second;
}

const Companion& companion() {
  static const Companion& one = *new Companion;
  return one;
}

}  // namespace

const CompiledKernel* find_kernel(const std::string& mangled_name) { return find(companion().checked, mangled_name); }

const CompiledKernel* unchecked(const CompiledKernel* kernel) {
  const CompiledKernel* quick = find(companion().unchecked, kernel->name);
  return quick == nullptr ? kernel : quick;
}

}  // namespace virtual_platform
