// Puts the parts of a probe together; see probe.h.
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "harness/probe/inventory.h"
#include "harness/probe/parts.h"
#include "harness/probe/probe.h"

namespace claimcheck {

namespace probe {

Environment environment_of_process() {
  Environment environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

}  // namespace probe

std::string hashed(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("OpenSSL cannot compute SHA-256 here");
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "sha256:";
  for (std::size_t i = 0; i < 8; ++i) {
    out += digits[digest[i] >> 4];
    out += digits[digest[i] & 15];
  }
  return out;
}

nlohmann::json probe_system(const ProbeOptions& options) {
  const probe::Tree tree(options.root);
  const probe::Environment environment = options.environment ? *options.environment : probe::environment_of_process();
  nlohmann::json system = nlohmann::json::object();
  const auto host = tree.line("proc/sys/kernel/hostname");
  system["host"] = !host ? nlohmann::json(nullptr) : nlohmann::json(options.keep_identifiers ? *host : hashed(*host));
  system["os"] = probe::os(tree);
  system["kernel"] = probe::known(tree.line("proc/sys/kernel/osrelease"));
  system["cpu"] = probe::cpu(tree);
  system.update(probe::memory(tree));
  system["virtualization"] = probe::virtualization(tree);
  system["container"] = probe::container(tree, environment);
  system["nvidia_driver"] = probe::known(probe::nvidia_driver(tree));
  system["nvidia_device_files"] = 0;
  for (const std::string& name : tree.children("dev"))
    if (name.size() > 6 && name.rfind("nvidia", 0) == 0 && name.find_first_not_of("0123456789", 6) == std::string::npos)
      system["nvidia_device_files"] = system["nvidia_device_files"].get<int>() + 1;
  system["pci_gpus"] = probe::pci_gpus(tree);
  system["nics"] = probe::nics(tree);
  system["disks"] = probe::disks(tree);
  const std::vector<probe::Installed> installed = probe::installed(tree, environment);
  system["software"] = probe::newest(installed);
  system["software_found"] = probe::listed(installed);
  system["startup"] = probe::startup(tree, system["container"]);
  system["environment"] = probe::allowed(environment);
  return system;
}

}  // namespace claimcheck
