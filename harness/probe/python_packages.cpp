// Python packages in the installations of this machine, by the metadata each has beside its code (PyPA: Recording
// installed projects). Nothing is imported: importing a framework takes a GPU's memory, seconds, and can fail.
#include <array>
#include <cctype>
#include <optional>
#include <set>

#include "harness/probe/inventory.h"

namespace claimcheck::probe {
namespace {

constexpr std::size_t most_sites = 64;

// Where Python keeps packages: of the distribution, of people who used pip as root, virtual environments and conda in
// /opt and in a home. Other people's homes may be many, and on another machine: eight are looked at.
constexpr std::array<std::pair<std::string_view, std::size_t>, 18> places{
    {{"usr/lib/python3/dist-packages", 1},
     {"usr/lib/python3*/site-packages", 16},
     {"usr/lib/python3*/dist-packages", 16},
     {"usr/lib64/python3*/site-packages", 16},
     {"usr/local/lib/python3*/dist-packages", 16},
     {"usr/local/lib/python3*/site-packages", 16},
     {"usr/local/lib64/python3*/site-packages", 16},
     {"opt/*/lib/python3*/site-packages", 32},
     {"opt/*/envs/*/lib/python3*/site-packages", 16},
     {"opt/*/*/lib/python3*/site-packages", 16},
     {"root/*/lib/python3*/site-packages", 32},
     {"root/*/envs/*/lib/python3*/site-packages", 32},
     {"home/*/.local/lib/python3*/site-packages", 8},
     {"home/*/anaconda3/lib/python3*/site-packages", 8},
     {"home/*/miniconda3/lib/python3*/site-packages", 8},
     {"home/*/anaconda3/envs/*/lib/python3*/site-packages", 8},
     {"home/*/miniconda3/envs/*/lib/python3*/site-packages", 8},
     {"home/*/*venv*/lib/python3*/site-packages", 8}}};

constexpr std::array<std::pair<std::string_view, const char*>, 17> packages{
    {{"torch", "pytorch"},
     {"tensorflow", "tensorflow"},
     {"tensorflow-cpu", "tensorflow"},
     {"tensorflow-gpu", "tensorflow"},
     {"tf-nightly", "tensorflow"},
     {"jax", "jax"},
     {"deepspeed", "deepspeed"},
     {"vllm", "vllm"},
     {"transformers", "transformers"},
     {"diffusers", "diffusers"},
     {"transformer-engine", "transformer_engine"},
     {"megatron-core", "megatron_core"},
     {"flash-attn", "flash_attention"},
     {"jupyterlab", "jupyterlab"},
     {"nvidia-nccl-cu*", "nccl"},
     {"nvidia-cudnn-cu*", "cudnn"},
     {"triton", "triton"}}};

const char* name_of(std::string_view package) {
  for (const auto& [known, name] : packages) {
    const bool many = known.ends_with('*');
    if (many ? package.starts_with(known.substr(0, known.size() - 1)) : package == known) return name;
  }
  return nullptr;
}

struct Entry {
  std::string package;  // "flash-attn"
  std::string version;
};

// "flash_attn-2.6.3.dist-info", "torch-2.4.0-py3.11.egg-info".
std::optional<Entry> entry_of(std::string_view name) {
  const bool wheel = name.ends_with(".dist-info");
  if (!wheel && !name.ends_with(".egg-info")) return std::nullopt;
  name.remove_suffix(wheel ? 10 : 9);
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  Entry entry;
  for (const char c : name.substr(0, dash))
    entry.package += c == '_' || c == '.' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string_view version = name.substr(dash + 1);
  if (!wheel) version = version.substr(0, version.find("-py"));
  entry.version = std::string(version);
  return entry;
}

void look_into(const Tree& tree, const std::string& site, std::vector<Installed>& found) {
  constexpr std::size_t most_entries = 16384;
  for (const std::string& name : tree.children(site, most_entries)) {
    const auto entry = entry_of(name);
    const char* known = entry ? name_of(entry->package) : nullptr;
    if (known == nullptr) continue;
    const std::string path = site + "/" + name;
    auto text = tree.text(path + "/METADATA", 1 << 16);
    if (!text) text = tree.text(path + "/PKG-INFO", 1 << 16);
    if (!text) text = tree.text(path, 1 << 16);  // an egg-info that is a file
    if (!text) continue;                         // what a package that was removed left behind
    const auto version = value_of(*text, "Version");
    found.push_back({known, version ? std::string(*version) : entry->version, site});
  }
}

}  // namespace

std::vector<Installed> installed_for_python(const Tree& tree, const Environment& environment) {
  std::set<std::string> sites;
  const auto add = [&](const std::string& pattern, std::size_t most) {
    for (const std::string& site : expanded(tree, pattern, most))
      if (sites.size() < most_sites) sites.insert(site);
  };
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto active = environment.find(variable);
    if (active == environment.end() || active->second.find('*') != std::string::npos) continue;
    const std::size_t begin = active->second.find_first_not_of('/');
    if (begin != std::string::npos) add(active->second.substr(begin) + "/lib/python3*/site-packages", 16);
  }
  for (const auto& [pattern, most] : places) add(std::string(pattern), most);
  std::vector<Installed> found;
  for (const std::string& site : sites) look_into(tree, site, found);
  return found;
}

}  // namespace claimcheck::probe
