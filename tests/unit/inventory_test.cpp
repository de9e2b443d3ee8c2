// What is installed, from the files of fabricated machines.
#include "harness/probe/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness/judge/software.h"
#include "tests/unit/fabricated_machine.h"

namespace claimcheck::probe {
namespace {

using nlohmann::json;

std::string metadata(const std::string& name, const std::string& version) {
  return "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n\nA framework.\nVersion: 0\n";
}

TEST(Inventory, PackagesAndPrograms) {
  FabricatedMachine machine;
  machine.link("usr/bin/python3", "python3.10")
      .file("usr/bin/docker", "")
      .file("usr/local/cuda/version.json", R"({"cuda": {"name": "CUDA SDK", "version": "12.4.1"}})")
      .file("var/lib/dpkg/status",
            "Package: libnccl2\nStatus: install ok installed\nVersion: 2.21.5-1+cuda12.4\n\n"
            "Package: nvidia-driver-550-server\nStatus: install ok installed\nVersion: 550.90.07-0ubuntu1\n\n"
            "Package: fio\nStatus: deinstall ok config-files\nVersion: 3.28-1\n\n"
            "Package: secret-tool\nStatus: install ok installed\nVersion: 1\n");
  const json system = machine.system();
  EXPECT_EQ(system.at("software"), (json{{"python", "3.10"},
                                         {"docker", "present"},
                                         {"cuda", "12.4.1"},
                                         {"driver", "550.90.07-0ubuntu1"},
                                         {"nccl", "2.21.5-1+cuda12.4"}}));
  EXPECT_THAT(
      system.at("software_found"),
      testing::Contains(json{{"name", "nccl"}, {"version", "2.21.5-1+cuda12.4"}, {"where", "package libnccl2"}}));
  EXPECT_THAT(system.at("software_found"),
              testing::Contains(json{{"name", "docker"}, {"version", nullptr}, {"where", "usr/bin/docker"}}));
}

TEST(Inventory, TheNewestOfSeveralSpeaks) {
  FabricatedMachine machine;
  machine.file("usr/local/cuda-11.8/version.json", R"({"cuda": {"version": "11.8.0"}})")
      .file("usr/local/cuda-12.10/version.json", R"({"cuda": {"version": "12.10.0"}})")
      .file("usr/local/cuda-12.9/version.json", R"({"cuda": {"version": "12.9.1"}})")
      .file("usr/local/cuda-10.2/version.txt", "CUDA Version 10.2.89\n")
      .file("usr/local/cuda-9/version.json", "{")
      .file("usr/local/cuda-12.6/include/cuda.h", "#pragma once\n#define CUDA_VERSION 12060\n")
      .file("usr/local/cuda-8/include/cuda.h", "#define CUDA_VERSION many\n")
      .link("usr/lib/x86_64-linux-gnu/libcudnn.so.9", "libcudnn.so.9.1.0")
      .file("usr/lib/x86_64-linux-gnu/libcudnn.so.9.1.0", "")
      .file("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54.15", "")
      .file("usr/lib/x86_64-linux-gnu/libnccl.so.2.20.5", "");
  const json system = machine.system();
  EXPECT_EQ(system.at("software"),
            (json{{"cuda", "12.10.0"}, {"cudnn", "9.1.0"}, {"driver", "550.54.15"}, {"nccl", "2.20.5"}}));
  std::vector<std::string> versions;
  for (const json& one : system.at("software_found"))
    if (one.at("name") == "cuda") versions.push_back(one.at("version"));
  EXPECT_THAT(versions, testing::UnorderedElementsAre("10.2.89", "11.8.0", "12.10.0", "12.6", "12.9.1"));
}

TEST(Inventory, PythonPackagesWithoutImportingThem) {
  FabricatedMachine machine;
  machine
      .file("opt/pytorch/lib/python3.12/site-packages/torch-2.7.0.dist-info/METADATA", metadata("torch", "2.7.0+cu128"))
      .file("opt/conda/envs/old/lib/python3.9/site-packages/torch-1.13.1-py3.9.egg-info", metadata("torch", "1.13.1"))
      .file("opt/conda/envs/old/lib/python3.9/site-packages/tensorflow_cpu-2.16.1.dist-info/METADATA",
            metadata("tensorflow-cpu", "2.16.1"))
      .file("usr/lib/python3/dist-packages/jax-0.4.30.egg-info/PKG-INFO", metadata("jax", "0.4.30"))
      .file("usr/local/lib/python3.10/dist-packages/nvidia_nccl_cu12-2.26.2.dist-info/METADATA",
            metadata("nvidia-nccl-cu12", "2.26.2"))
      .file("usr/local/lib/python3.10/dist-packages/torchvision-0.20.0.dist-info/METADATA",
            metadata("torchvision", "0.20.0"))
      .folder("usr/local/lib/python3.10/dist-packages/deepspeed-0.14.0.dist-info")  // left by a removed package
      .file("home/alice/my-venv/lib/python3.11/site-packages/vllm-0.6.3.post1.dist-info/METADATA",
            metadata("vllm", "0.6.3.post1"));
  const json system = machine.system();
  EXPECT_EQ(system.at("software"), (json{{"pytorch", "2.7.0+cu128"},
                                         {"tensorflow", "2.16.1"},
                                         {"jax", "0.4.30"},
                                         {"nccl", "2.26.2"},
                                         {"vllm", "0.6.3.post1"}}));
  EXPECT_EQ(system.dump().find("alice"), std::string::npos) << "people's names stay on the machine";
  EXPECT_NE(system.dump().find("home/*/my-venv"), std::string::npos);
}

TEST(Inventory, TheActiveEnvironmentIsLookedAt) {
  FabricatedMachine machine;
  machine.file("scratch/env/lib/python3.11/site-packages/torch-2.4.0.dist-info/METADATA", metadata("torch", "2.4.0"));
  EXPECT_TRUE(machine.system().at("software").empty());
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    ProbeOptions options = machine.options();
    options.environment = std::map<std::string, std::string>{{variable, "/scratch/env"}};
    EXPECT_EQ(probe_system(options).at("software"), (json{{"pytorch", "2.4.0"}}));
  }
}

TEST(Inventory, NetworkPluginsSchedulersFileSystems) {
  FabricatedMachine machine;
  machine.file("opt/amazon/efa_installed_packages", "# EFA installer version: 1.30.0\n# Debug packages: no\n")
      .file("opt/amazon/efa/lib/pkgconfig/libfabric.pc",
            "prefix=/opt/amazon/efa\nName: libfabric\nVersion: 1.22.0amzn1.0\n")
      .folder("opt/amazon/ofi-nccl/lib")
      .file("var/lib/tcpx/lib64/libnccl-net.so", "")
      .file("sys/fs/lustre/version", "lustre: 2.12.8\n")
      .file("usr/lib/x86_64-linux-gnu/slurm-wlm/spank_pyxis.so", "")
      .file("opt/slurm/sbin/slurmd", "")
      .file("usr/bin/nvidia-ctk", "")
      .file("opt/rocm/.info/version", "6.2.0-66\n");
  EXPECT_EQ(machine.system().at("software"), (json{{"efa", "1.30.0"},
                                                   {"libfabric", "1.22.0amzn1.0"},
                                                   {"aws_ofi_nccl", "present"},
                                                   {"gpudirect_tcpx", "present"},
                                                   {"lustre", "2.12.8"},
                                                   {"pyxis", "present"},
                                                   {"slurm", "present"},
                                                   {"nvidia_container_toolkit", "present"},
                                                   {"rocm", "6.2.0-66"}}));
  ProbeOptions options = machine.options();
  options.environment = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"SLURM_JOB_ID", "7"}};
  EXPECT_EQ(probe_system(options).at("software").at("kubernetes"), "present");
}

// A name that the probe writes and no claim can ask for would be a statement nobody can judge.
TEST(Inventory, EverythingFoundCanBeClaimed) {
  FabricatedMachine machine;
  machine.file("var/lib/dpkg/status", [] {
    std::string text;
    for (const char* package : {"docker.io", "podman", "enroot", "slurmd", "kubelet", "nvidia-fabricmanager-550", "fio",
                                "datacenter-gpu-manager", "nvidia-imex-570", "lustre-client-utils", "openmpi-bin",
                                "rocm-core", "libopenblas0-pthread", "rdma-core", "doca-ofed", "containerd"})
      text += std::string("Package: ") + package + "\nStatus: install ok installed\nVersion: 1.0\n\n";
    return text;
  }());
  const json software = machine.system().at("software");
  EXPECT_EQ(software.size(), 16u) << software;
  for (const auto& item : software.items()) {
    const auto& known = known_software();
    EXPECT_TRUE(std::any_of(known.begin(), known.end(), [&](const Software& one) { return one.name == item.key(); }))
        << item.key();
  }
}

TEST(Inventory, ManyDirectoriesAreNotAllWalked) {
  FabricatedMachine machine;
  for (int i = 0; i < 40; ++i)
    machine.file(
        "home/user" + std::to_string(i) + "/.local/lib/python3.11/site-packages/torch-2.4.0.dist-info/METADATA",
        metadata("torch", "2.4.0"));
  const Tree tree(machine.root());
  EXPECT_EQ(expanded(tree, "home/*/.local/lib/python3*/site-packages", 8).size(), 8u);
  EXPECT_EQ(machine.system().at("software_found").size(), 1u) << "eight homes, one line without names";
}

}  // namespace
}  // namespace claimcheck::probe
