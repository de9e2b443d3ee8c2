#include "harness/probe/inventory.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "harness/version_number.h"

namespace claimcheck::probe {
namespace {

struct Place {
  const char* name;
  std::string_view path;  // as expanded() takes it
};

// What is there when this is there. Programs, and folders that installers of the clouds make.
constexpr std::array<Place, 38> presence{{{"docker", "usr/bin/docker"},
                                          {"containerd", "usr/bin/containerd"},
                                          {"podman", "usr/bin/podman"},
                                          {"apptainer", "usr/bin/apptainer"},
                                          {"apptainer", "usr/bin/singularity"},
                                          {"enroot", "usr/bin/enroot"},
                                          {"pyxis", "usr/lib*/slurm/spank_pyxis.so"},
                                          {"pyxis", "usr/lib/*/slurm*/spank_pyxis.so"},
                                          {"pyxis", "usr/local/lib/slurm/spank_pyxis.so"},
                                          {"pyxis", "opt/slurm/lib/slurm/spank_pyxis.so"},
                                          {"nvidia_container_toolkit", "usr/bin/nvidia-ctk"},
                                          {"slurm", "usr/sbin/slurmd"},
                                          {"slurm", "opt/slurm/sbin/slurmd"},
                                          {"kubernetes", "usr/bin/kubelet"},
                                          {"kubernetes", "usr/local/bin/kubelet"},
                                          {"fabric_manager", "usr/bin/nv-fabricmanager"},
                                          {"dcgm", "usr/bin/dcgmi"},
                                          {"imex", "usr/bin/nvidia-imex"},
                                          {"nvidia_smi", "usr/bin/nvidia-smi"},
                                          {"mofed", "usr/bin/ofed_info"},
                                          {"lustre", "usr/sbin/mount.lustre"},
                                          {"lustre", "sbin/mount.lustre"},
                                          {"openmpi", "usr/bin/ompi_info"},
                                          {"openmpi", "opt/amazon/openmpi*/bin/ompi_info"},
                                          {"rocm", "opt/rocm"},
                                          {"efa", "opt/amazon/efa"},
                                          {"aws_ofi_nccl", "opt/amazon/ofi-nccl"},
                                          {"aws_ofi_nccl", "opt/aws-ofi-nccl"},
                                          {"gpudirect_tcpx", "usr/local/tcpx/lib64/libnccl-net.so"},
                                          {"gpudirect_tcpx", "var/lib/tcpx/lib64/libnccl-net.so"},
                                          {"gpudirect_tcpxo", "var/lib/fastrak/lib64/libnccl-net.so"},
                                          {"gpudirect_tcpxo", "usr/local/fastrak/lib64/libnccl-net.so"},
                                          {"gib", "usr/local/gib"},
                                          {"nccl_rdma_sharp", "opt/hpcx/nccl_rdma_sharp_plugin"},
                                          {"nccl_net", "usr/local/lib/libnccl-net.so"},
                                          {"nccl_net", "usr/lib/*/libnccl-net.so"},
                                          {"cuda", "usr/local/cuda"},
                                          {"gdrcopy", "usr/lib/*/libgdrapi.so.2"}}};

// Folders of libraries whose file names end in their version.
constexpr std::array<std::string_view, 6> library_folders{
    "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/local/lib",
    "usr/local/cuda/lib64",     "usr/local/nvidia/lib64"};
constexpr std::array<std::pair<std::string_view, const char*>, 3> libraries{
    {{"libnvidia-ml.so.", "driver"}, {"libnccl.so.", "nccl"}, {"libcudnn.so.", "cudnn"}}};

// pkg-config files: libraries whose file name has the version of their interface instead.
constexpr std::array<Place, 5> descriptions{{{"libfabric", "opt/amazon/efa/lib*/pkgconfig/libfabric.pc"},
                                             {"libfabric", "usr/lib/*/pkgconfig/libfabric.pc"},
                                             {"libfabric", "usr/lib64/pkgconfig/libfabric.pc"},
                                             {"rdma_core", "usr/lib/*/pkgconfig/libibverbs.pc"},
                                             {"rdma_core", "usr/lib64/pkgconfig/libibverbs.pc"}}};

// Files whose first line holds a version.
constexpr std::array<Place, 4> first_lines{{{"lustre", "sys/fs/lustre/version"},
                                            {"lustre", "proc/fs/lustre/version"},
                                            {"efa", "opt/amazon/efa_installed_packages"},
                                            {"rocm", "opt/rocm/.info/version"}}};

// "# EFA installer version: 1.30.0" -> "1.30.0"
std::string version_in(std::string_view line) {
  while (!line.empty()) {
    const std::size_t blank = line.find(' ');
    const std::string_view word = line.substr(0, blank);
    if (is_version(word) && word.find('.') != std::string_view::npos) return std::string(word);
    line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
  }
  return {};
}

void add_libraries(const Tree& tree, std::vector<Installed>& found) {
  constexpr std::size_t most_libraries = 65536;
  for (const std::string_view folder : library_folders) {
    for (const std::string& file : tree.children(folder, most_libraries)) {
      for (const auto& [start, name] : libraries) {
        if (!file.starts_with(start)) continue;
        const std::string version = file.substr(start.size());
        // "libcudnn.so.9" is the link to "libcudnn.so.9.1.0".
        if (is_version(version) && version.find('.') != std::string::npos)
          found.push_back({name, version, std::string(folder)});
      }
    }
  }
}

// 12040 of cuda.h is 12.4: an installation from a distribution's packages has no version.json.
std::string cuda_in_header(const Tree& tree, const std::string& folder) {
  const std::string text = tree.text(folder + "/include/cuda.h", 1 << 22).value_or("");
  const std::string key = "#define CUDA_VERSION ";
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(text).substr(at + key.size());
  const auto number = integer_from(rest.substr(0, rest.find('\n')));
  if (!number || *number < 1000 || *number > 1000000) return {};
  return std::to_string(*number / 1000) + "." + std::to_string(*number % 1000 / 10);
}

void add_cuda(const Tree& tree, std::vector<Installed>& found) {
  for (const std::string& folder : expanded(tree, "usr/local/cuda*", 64)) {
    const std::string text = tree.text(folder + "/version.json").value_or("");
    const auto version = nlohmann::json::parse(text, nullptr, false);
    const nlohmann::json::json_pointer place("/cuda/version");
    if (!version.is_discarded() && version.contains(place) && version.at(place).is_string())
      found.push_back({"cuda", version.at(place).get<std::string>(), folder});
    else if (const auto old = tree.line(folder + "/version.txt"))  // up to 10.2
      found.push_back({"cuda", version_in(*old), folder});
    else if (const std::string number = cuda_in_header(tree, folder); !number.empty())
      found.push_back({"cuda", number, folder});
  }
}

// Debian's /usr/bin/python3 is a link to "python3.11".
void add_python(const Tree& tree, std::vector<Installed>& found) {
  const auto target = tree.link_name("usr/bin/python3");
  if (target && target->starts_with("python") && target->size() > 6)
    found.push_back({"python", target->substr(6), "usr/bin/python3"});
  else if (tree.exists("usr/bin/python3"))
    found.push_back({"python", "", "usr/bin/python3"});
}

// One '*', or one at each end.
bool fits(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  const std::string_view start = pattern.substr(0, star);
  const std::string_view end = pattern.substr(star + 1);
  if (end.find('*') != std::string_view::npos)  // "*venv*"
    return start.empty() && end.ends_with('*') && name.find(end.substr(0, end.size() - 1)) != std::string_view::npos;
  return name.size() >= start.size() + end.size() && name.starts_with(start) && name.ends_with(end);
}

// People's names stay on the machine.
std::string without_names(const std::string& path) {
  constexpr std::string_view homes = "home/";
  if (!path.starts_with(homes)) return path;
  const std::size_t end = path.find('/', homes.size());
  return "home/*" + (end == std::string::npos ? "" : path.substr(end));
}

}  // namespace

std::vector<std::string> expanded(const Tree& tree, std::string_view pattern, std::size_t most) {
  std::vector<std::string> paths = {""};
  while (!pattern.empty()) {
    const std::size_t slash = pattern.find('/');
    const std::string_view part = pattern.substr(0, slash);
    pattern.remove_prefix(slash == std::string_view::npos ? pattern.size() : slash + 1);
    std::vector<std::string> longer;
    for (const std::string& path : paths) {
      const std::string before = path.empty() ? "" : path + "/";
      if (part.find('*') == std::string_view::npos) {
        longer.push_back(before + std::string(part));
        continue;
      }
      std::size_t taken = 0;
      for (const std::string& child : tree.children(path.empty() ? "." : path))
        if (fits(part, child) && taken++ < most) longer.push_back(before + child);
    }
    paths = std::move(longer);
    std::erase_if(paths, [&](const std::string& path) { return !tree.exists(path); });
  }
  return paths;
}

std::vector<Installed> installed_files(const Tree& tree, const Environment& environment) {
  std::vector<Installed> found;
  if (const auto driver = nvidia_driver(tree)) found.push_back({"driver", *driver, "proc/driver/nvidia/version"});
  add_python(tree, found);
  add_cuda(tree, found);
  add_libraries(tree, found);
  for (const Place& place : descriptions)
    for (const std::string& file : expanded(tree, place.path, 16)) {
      const std::string text = tree.text(file, 1 << 16).value_or("");
      if (const auto version = value_of(text, "Version")) found.push_back({place.name, std::string(*version), file});
    }
  for (const Place& place : first_lines)
    if (const auto line = tree.line(place.path))
      found.push_back({place.name, version_in(*line), std::string(place.path)});
  for (const Place& place : presence)
    for (const std::string& path : expanded(tree, place.path, 16)) found.push_back({place.name, "", path});
  if (environment.count("KUBERNETES_SERVICE_HOST") != 0) found.push_back({"kubernetes", "", "environment"});
  if (environment.count("SLURM_JOB_ID") != 0) found.push_back({"slurm", "", "environment"});
  return found;
}

std::vector<Installed> installed(const Tree& tree, const Environment& environment) {
  std::vector<Installed> all = installed_files(tree, environment);
  for (Installed& one : installed_packages(tree)) all.push_back(std::move(one));
  for (Installed& one : installed_for_python(tree, environment)) all.push_back(std::move(one));
  for (Installed& one : all) one.where = without_names(one.where);
  const auto key = [](const Installed& one) { return std::tie(one.name, one.where, one.version); };
  std::sort(all.begin(), all.end(), [&](const Installed& a, const Installed& b) { return key(a) < key(b); });
  all.erase(
      std::unique(all.begin(), all.end(), [&](const Installed& a, const Installed& b) { return key(a) == key(b); }),
      all.end());
  return all;
}

nlohmann::json newest(const std::vector<Installed>& found) {
  nlohmann::json software = nlohmann::json::object();
  for (const Installed& one : found) {
    const std::string before = software.value(one.name, "");
    if (before.empty())
      software[one.name] = one.version.empty() ? "present" : one.version;
    else if (compare_versions(one.version, before) > 0)
      software[one.name] = one.version;
  }
  return software;
}

nlohmann::json listed(const std::vector<Installed>& found) {
  constexpr std::size_t most = 256;
  nlohmann::json list = nlohmann::json::array();
  for (const Installed& one : found) {
    if (list.size() == most) break;
    list.push_back({{"name", one.name},
                    {"version", one.version.empty() ? nlohmann::json(nullptr) : nlohmann::json(one.version)},
                    {"where", one.where}});
  }
  return list;
}

}  // namespace claimcheck::probe
