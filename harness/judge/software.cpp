#include "harness/judge/software.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/version_number.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr std::string_view prefix = "identity.software.";

std::string_view name_of(std::string_view metric) { return metric.substr(std::min(prefix.size(), metric.size())); }

struct Found {
  std::string version;  // empty: not told
  std::string where;
};

// Unset: the document holds no inventory.
std::optional<std::vector<Found>> found_in(const Document& document, std::string_view name) {
  const auto list = document.system.find("software_found");
  if (list == document.system.end() || !list->is_array()) return std::nullopt;
  std::vector<Found> found;
  for (const json& one : *list)
    if (text_at(one, "name") == name) found.push_back({text_at(one, "version"), text_at(one, "where")});
  // The newest first.
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return compare_versions(a.version, b.version) > 0; });
  return found;
}

std::string in_words(const std::string& title, const Found& found) {
  const std::string version = found.version.empty() ? "" : " " + found.version;
  return fmt::format("{}{} is installed ({})", title, version, found.where);
}

Verdict absent(const Document& document, Verdict verdict, const std::string& title) {
  const std::string container = text_at(document.system, "container");
  if (!container.empty() && container != "none") {
    verdict.reason =
        fmt::format("no {} in this container ({}), which does not show what the machine has", title, container);
    return verdict;
  }
  verdict.kind = VerdictKind::contradicted;
  verdict.reason = fmt::format("no {} is installed at the places where it usually is", title);
  verdict.diagnosis = {
      "docs/probe.md lists the places. -> When it is in an environment elsewhere, activate that (VIRTUAL_ENV, "
      "CONDA_PREFIX) and run again; otherwise this is not the image that was offered."};
  return verdict;
}

}  // namespace

const std::vector<Software>& known_software() {
  static const std::vector<Software> all = {{"apptainer", "Apptainer"},
                                            {"aws_ofi_nccl", "AWS OFI NCCL plugin"},
                                            {"containerd", "containerd"},
                                            {"cuda", "CUDA toolkit"},
                                            {"cudnn", "cuDNN"},
                                            {"dcgm", "DCGM"},
                                            {"deepspeed", "DeepSpeed"},
                                            {"diffusers", "Hugging Face Diffusers"},
                                            {"docker", "Docker"},
                                            {"driver", "NVIDIA driver"},
                                            {"efa", "EFA software"},
                                            {"enroot", "enroot"},
                                            {"fabric_manager", "fabric manager"},
                                            {"fio", "fio"},
                                            {"flash_attention", "FlashAttention"},
                                            {"gdrcopy", "GDRCopy"},
                                            {"gib", "Google's gIB plugin"},
                                            {"gpudirect_tcpx", "GPUDirect-TCPX plugin"},
                                            {"gpudirect_tcpxo", "GPUDirect-TCPXO plugin"},
                                            {"imex", "IMEX"},
                                            {"jax", "JAX"},
                                            {"jupyterlab", "JupyterLab"},
                                            {"kubernetes", "Kubernetes"},
                                            {"libfabric", "libfabric"},
                                            {"lustre", "Lustre client"},
                                            {"megatron_core", "Megatron Core"},
                                            {"mofed", "MLNX_OFED or DOCA-OFED"},
                                            {"nccl", "NCCL"},
                                            {"nccl_net", "NCCL network plugin"},
                                            {"nccl_rdma_sharp", "NCCL SHARP plugin"},
                                            {"nvidia_container_toolkit", "NVIDIA Container Toolkit"},
                                            {"nvidia_smi", "nvidia-smi"},
                                            {"openblas", "OpenBLAS"},
                                            {"openmpi", "Open MPI"},
                                            {"podman", "Podman"},
                                            {"python", "Python 3"},
                                            {"pytorch", "PyTorch"},
                                            {"pyxis", "pyxis"},
                                            {"rdma_core", "rdma-core"},
                                            {"rocm", "ROCm"},
                                            {"slurm", "Slurm"},
                                            {"tensorflow", "TensorFlow"},
                                            {"transformer_engine", "Transformer Engine"},
                                            {"transformers", "Hugging Face Transformers"},
                                            {"triton", "Triton"},
                                            {"vllm", "vLLM"}};
  return all;
}

std::string software_title(std::string_view metric) {
  const std::string_view name = name_of(metric);
  for (const Software& one : known_software())
    if (one.name == name) return std::string(one.title);
  return std::string(name);
}

Verdict software_verdict(const Document& document, const Claim& claim) {
  Verdict verdict;
  verdict.claim = claim;
  const std::string title = software_title(claim.metric);
  const auto found = found_in(document, name_of(claim.metric));
  if (!found) {
    verdict.reason = "the result holds no list of what is installed";
    return verdict;
  }
  if (found->empty()) return absent(document, std::move(verdict), title);
  const std::string wanted = value_text(claim.value);
  const auto meets = [&](const Found& one) {
    return wanted == "present" || version_meets(one.version, claim.comparison, wanted);
  };
  const Found& newest = found->front();
  const auto good = std::find_if(found->begin(), found->end(), meets);
  if (good == found->end() && newest.version.empty()) {
    verdict.reason = in_words(title, newest) + ", but no file tells its version";
    return verdict;
  }
  const Found& speaker = good == found->end() ? newest : *good;
  verdict.kind = good == found->end() ? VerdictKind::contradicted : VerdictKind::met;
  verdict.attained = speaker.version.empty() ? "present" : speaker.version;
  verdict.reason = in_words(title, speaker);
  if (good == found->end()) {
    verdict.reason += fmt::format("; {} {} was offered", claim.comparison, wanted);
    verdict.diagnosis = {
        "Another version than the one offered. -> Choose the image by its release notes, or install it."};
  }
  return verdict;
}

}  // namespace claimcheck
