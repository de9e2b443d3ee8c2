// Why no GPU can be used: each situation a user meets has its own sentence and remedy.
#include "kernels/cuda/open_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace claimcheck::kernels::cuda {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// A directory that stands for "/".
class Root : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() / (std::string("open_failure_") + info->name() + std::to_string(::getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void pci(const std::string& id, const std::string& vendor, const std::string& kind) {
    file("sys/bus/pci/devices/" + id + "/vendor", vendor + "\n");
    file("sys/bus/pci/devices/" + id + "/class", kind + "\n");
  }

  fs::path root_;
};

using OpenFailureRoot = Root;

TEST_F(OpenFailureRoot, CountsControllersOfNvidiaOnly) {
  pci("0000:17:00.0", "0x10de", "0x030200");
  pci("0000:2a:00.0", "0x10de", "0x030000");
  pci("0000:2a:00.1", "0x10de", "0x040300");  // the sound of the same card
  pci("0000:00:02.0", "0x8086", "0x030000");
  const SystemView view = read_system(root_);
  EXPECT_EQ(view.gpus, 2);
  EXPECT_EQ(view.kernel_driver, "");
  EXPECT_FALSE(view.device_files);
  EXPECT_FALSE(view.container);
}

TEST_F(OpenFailureRoot, ReadsBothKindsOfDriverVersion) {
  file("proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.274.02  Mon Jan  6 11:20:30 UTC 2025\nGCC version: gcc "
       "12.2\n");
  file("dev/nvidiactl", "");
  EXPECT_EQ(read_system(root_).kernel_driver, "535.274.02");
  EXPECT_TRUE(read_system(root_).device_files);
  file("proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (builder)  Tue Sep 23\n");
  EXPECT_EQ(read_system(root_).kernel_driver, "580.95.05");
}

TEST_F(OpenFailureRoot, KnowsContainers) {
  file("proc/1/cgroup", "0::/\n");
  EXPECT_FALSE(read_system(root_).container);
  file("proc/1/cgroup", "0::/kubepods/burstable/pod1\n");
  EXPECT_TRUE(read_system(root_).container);
  file("proc/1/cgroup", "0::/\n");
  file("run/.containerenv", "");
  EXPECT_TRUE(read_system(root_).container);
}

OpenFailure failure(int code, const std::string& name) {
  return {.code = code, .name = name, .text = "", .runtime = 13000, .visible = {}, .nvml_reason = ""};
}
SystemView view() { return {.kernel_driver = "", .libcuda = ""}; }

TEST(OpenFailure, NoGpuInTheMachine) {
  const Error error(explain(failure(35, "cudaErrorInsufficientDriver"), view()));
  EXPECT_STREQ(error.what(),
               "this machine has no NVIDIA GPU (CUDA: cudaErrorInsufficientDriver); choose an instance type that has "
               "one, or measure the CPU with --device host");
}

TEST(OpenFailure, DriverNotLoaded) {
  SystemView system = view();
  system.gpus = 8;
  const Error::Detail detail = explain(failure(35, "cudaErrorInsufficientDriver"), system);
  EXPECT_EQ(detail.text, "this machine has 8 NVIDIA GPUs and its driver is not loaded");
  EXPECT_THAT(detail.remedy, HasSubstr("modprobe nvidia"));
  EXPECT_EQ(detail.library, "CUDA");
}

TEST(OpenFailure, DriverLibraryMissing) {
  SystemView system = view();
  system.gpus = 1;
  system.kernel_driver = "580.95.05";
  system.device_files = true;
  EXPECT_THAT(explain(failure(35, ""), system).text,
              AllOf(HasSubstr("580.95.05 is loaded"), HasSubstr("libcuda.so.1")));
}

TEST(OpenFailure, ContainerWithoutGpus) {
  SystemView system = view();
  system.gpus = 8;
  system.kernel_driver = "580.95.05";  // the host's, seen through /proc
  system.container = true;
  const Error::Detail detail = explain(failure(35, ""), system);
  EXPECT_EQ(detail.text, "this container was started without GPUs");
  EXPECT_THAT(detail.remedy, HasSubstr("--gpus all"));
}

TEST(OpenFailure, DriverTooOld) {
  OpenFailure old = failure(35, "cudaErrorInsufficientDriver");
  old.driver_api = 12020;
  SystemView system = view();
  system.gpus = 1;
  system.kernel_driver = "535.274.02";
  const Error::Detail detail = explain(old, system);
  EXPECT_EQ(detail.text, "the NVIDIA driver 535.274.02 supports CUDA 12.2 and this worker needs 13.0");
  EXPECT_EQ(detail.remedy, "install driver 580 or newer, or use a worker built with CUDA 12");
}

TEST(OpenFailure, HiddenDevices) {
  OpenFailure hidden = failure(100, "cudaErrorNoDevice");
  hidden.visible = "8";
  hidden.nvml_devices = 8;
  const Error::Detail detail = explain(hidden, view());
  EXPECT_EQ(detail.text, "CUDA_VISIBLE_DEVICES is \"8\", which names no GPU, and this machine has 8 GPUs");
  EXPECT_THAT(detail.remedy, AllOf(HasSubstr("an index from 0 to 7"), HasSubstr("GPU-..."), HasSubstr("MIG-...")));
  hidden.visible = "";
  hidden.nvml_devices = -1;
  EXPECT_EQ(explain(hidden, view()).text, "CUDA_VISIBLE_DEVICES is \"\", which names no GPU");
}

TEST(OpenFailure, DriverSeesNoGpu) {
  SystemView system = view();
  system.kernel_driver = "550.90.07";
  system.device_files = true;
  EXPECT_EQ(explain(failure(100, "cudaErrorNoDevice"), system).text, "the NVIDIA driver answers and sees no GPU");
  OpenFailure mig = failure(0, "cudaErrorNoDevice");
  mig.nvml_devices = 1;
  EXPECT_THAT(explain(mig, system).remedy, HasSubstr("MIG is on without instances"));
}

TEST(OpenFailure, FabricManager) {
  EXPECT_THAT(explain(failure(802, "cudaErrorSystemNotReady"), view()).remedy,
              HasSubstr("systemctl start nvidia-fabricmanager"));
}

TEST(OpenFailure, DriverMismatch) {
  SystemView system = view();
  system.kernel_driver = "535.274.02";
  system.libcuda = "/usr/local/cuda/compat/libcuda.so.575.57.08";
  const Error::Detail compat = explain(failure(803, "cudaErrorSystemDriverMismatch"), system);
  EXPECT_THAT(compat.text, AllOf(HasSubstr("libcuda.so.575.57.08"), HasSubstr("535.274.02")));
  EXPECT_THAT(compat.remedy, HasSubstr("LD_LIBRARY_PATH"));
  system.libcuda = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05";
  EXPECT_THAT(explain(failure(803, ""), system).remedy, HasSubstr("reboot"));
}

TEST(OpenFailure, EveryOtherCodeHasASentenceAndARemedy) {
  for (const int code : {0, 3, 34, 46, 100, 304, 804, 805, 999, 12345}) {
    const Error::Detail detail = explain(failure(code, "name"), view());
    EXPECT_FALSE(detail.text.empty()) << code;
    EXPECT_FALSE(detail.remedy.empty()) << code;
    EXPECT_EQ(detail.outcome, Outcome::failed) << code;
  }
  EXPECT_THAT(explain(failure(804, ""), view()).text, HasSubstr("forward compatibility"));
}

}  // namespace
}  // namespace claimcheck::kernels::cuda
