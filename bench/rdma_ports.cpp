#include "bench/rdma_ports.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace claimcheck::bench {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line.substr(0, 200);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; at != end && names.size() < 256; at.increment(ignored))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

fs::path system_root() {
  const char* const root = std::getenv("CLAIMCHECK_SYSTEM_ROOT");
  return root == nullptr || *root == '\0' ? "/" : root;
}

std::vector<RdmaPort> rdma_ports(const fs::path& root) {
  const fs::path devices = root / "sys/class/infiniband";
  std::vector<RdmaPort> ports;
  for (const std::string& device : names_in(devices)) {
    std::error_code ignored;
    const bool efa = fs::read_symlink(devices / device / "device/driver", ignored).filename() == "efa";
    for (const std::string& name : names_in(devices / device / "ports")) {
      const fs::path folder = devices / device / "ports" / name;
      RdmaPort port{.device = device, .port = 0, .fabric = "efa", .line_gbit_s = 0};
      std::from_chars(name.data(), name.data() + name.size(), port.port);
      // "4: ACTIVE"
      if (port.port < 1 || first_line(folder / "state").find("ACTIVE") == std::string::npos) continue;
      if (!efa) port.fabric = first_line(folder / "link_layer") == "InfiniBand" ? "infiniband" : "roce";
      port.line_gbit_s = std::strtod(first_line(folder / "rate").c_str(), nullptr);  // "400 Gb/sec (4X NDR)"
      ports.push_back(port);
    }
  }
  return ports;
}

}  // namespace claimcheck::bench
