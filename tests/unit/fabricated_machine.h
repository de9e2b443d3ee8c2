// A small fabricated machine for tests of the probe: a directory that stands for "/".
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include "harness/probe/probe.h"

namespace claimcheck {

class FabricatedMachine {
 public:
  FabricatedMachine() {
    static std::atomic<int> next{0};
    const std::string name = "probe_test_" + std::to_string(::getpid()) + "_" + std::to_string(next++);
    root_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(root_);
  }
  ~FabricatedMachine() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FabricatedMachine(const FabricatedMachine&) = delete;
  FabricatedMachine& operator=(const FabricatedMachine&) = delete;

  FabricatedMachine& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
    return *this;
  }
  FabricatedMachine& link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::create_symlink(target, root_ / path);
    return *this;
  }
  FabricatedMachine& folder(const std::string& path) {
    std::filesystem::create_directories(root_ / path);
    return *this;
  }
  const std::filesystem::path& root() const { return root_; }
  ProbeOptions options() const { return {root_, false, std::map<std::string, std::string>{}}; }
  nlohmann::json system() const { return probe_system(options()); }
  nlohmann::json platform() const { return probe_platform(options()); }

 private:
  std::filesystem::path root_;
};

// An NVIDIA H100 on the PCI bus, bound to `driver` unless that is empty.
inline void add_gpu(FabricatedMachine& machine, const std::string& address, const std::string& driver) {
  const std::string base = "sys/bus/pci/devices/" + address + "/";
  machine.file(base + "class", "0x030200\n").file(base + "vendor", "0x10de\n").file(base + "device", "0x2330\n");
  if (!driver.empty()) machine.link(base + "driver", "../../../../bus/pci/drivers/" + driver);
}

}  // namespace claimcheck
