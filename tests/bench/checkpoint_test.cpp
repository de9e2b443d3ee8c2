// Checkpoints as benchmarks: on the CPU, on two fake GPUs, and without the host in between on a device that can; what
// was saved comes back, one flipped bit is seen, and sizes are what fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/checkpoint_run.h"
#include "bench/worker/registry.h"
#include "fake_gpu.h"

namespace claimcheck::bench {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Benchmark& benchmark_named(const std::string& id) {
  const auto found = std::find_if(all().begin(), all().end(), [&](const Benchmark& one) { return one.id == id; });
  if (found == all().end()) throw std::invalid_argument("no benchmark " + id);
  return *found;
}

std::string failure(kernels::Outcome outcome, const std::function<void()>& work) {
  try {
    work();
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.detail().outcome, outcome) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

// Files moved as cuFile would, on memory that is the host's in truth.
class Direct final : public kernels::DirectFile {
 public:
  Direct(int descriptor, const std::string& fault) : descriptor_(descriptor), fault_(fault) {}
  void write(std::size_t offset, kernels::Slice source) override {
    if (fault_ == "write") throw kernels::wrong_result("this one writes nothing");
    if (pwrite(descriptor_, source.address(), source.size_bytes, static_cast<off_t>(offset)) < 0)
      throw std::runtime_error("pwrite");
  }
  void read(std::size_t offset, kernels::Slice target) override {
    if (fault_ == "read" && offset == 0) return;
    if (pread(descriptor_, target.address(), target.size_bytes, static_cast<off_t>(offset)) < 0)
      throw std::runtime_error("pread");
  }
  kernels::Facts facts() const override { return {{"library", std::string("test")}}; }

 private:
  int descriptor_;
  const std::string& fault_;
};

// The CPU, with a way past itself.
class DirectDevice final : public kernels::Device {
 public:
  DirectDevice(kernels::Device& real, const std::string& fault) : real_(real), fault_(fault) {}
  const kernels::DeviceFacts& facts() const override { return real_.facts(); }
  std::unique_ptr<kernels::Watch> watch() override { return real_.watch(); }
  std::unique_ptr<kernels::Stream> make_stream() override { return real_.make_stream(); }
  std::unique_ptr<kernels::Timer> make_timer() override { return real_.make_timer(); }
  std::unique_ptr<kernels::Buffer> allocate(std::size_t bytes, kernels::Placement placement) override {
    return real_.allocate(bytes, placement);
  }
  void fill(kernels::Stream& stream, kernels::Slice target, kernels::DataType type, kernels::Pattern pattern,
            std::uint64_t seed) override {
    real_.fill(stream, target, type, pattern, seed);
  }
  void upload(kernels::Stream& stream, kernels::Slice target, std::span<const std::byte> source) override {
    real_.upload(stream, target, source);
  }
  void download(kernels::Stream& stream, std::span<std::byte> target, kernels::Slice source) override {
    real_.download(stream, target, source);
  }
  void memory(kernels::Stream&, kernels::MemoryKernel, kernels::Slice, kernels::Slice, kernels::Slice,
              double) override {
    throw std::logic_error("no checkpoint needs this");
  }
  std::unique_ptr<kernels::Gemm> make_gemm(kernels::DataType, const kernels::GemmShape&) override {
    throw std::logic_error("no checkpoint needs this");
  }
  void copy(kernels::Stream&, kernels::Slice, kernels::Slice, kernels::CopyEngine) override {
    throw std::logic_error("nothing goes by way of the host");
  }
  void compare(kernels::Stream&, kernels::Slice, kernels::Slice, kernels::Slice) override {
    throw std::logic_error("no checkpoint needs this");
  }
  std::unique_ptr<kernels::DirectFile> open_direct_file(int descriptor, kernels::Buffer&) override {
    return std::make_unique<Direct>(descriptor, fault_);
  }

 private:
  kernels::Device& real_;
  const std::string& fault_;
};

class DirectPlatform final : public kernels::Platform {
 public:
  std::string_view kind() const override { return "fake"; }
  kernels::Facts facts() const override { return {}; }
  std::span<kernels::Device* const> devices() override { return devices_; }
  std::span<kernels::Device* const> ranks() override { return devices_; }
  std::unique_ptr<kernels::Gate> make_gate() override { return real_->make_gate(); }
  kernels::Access access(const kernels::Device&, const kernels::Device&) override { return kernels::Access::direct; }
  std::unique_ptr<kernels::Group> make_group(std::span<kernels::Device* const>, kernels::World&) override {
    throw std::logic_error("no checkpoint needs this");
  }

  std::string fault;

 private:
  std::unique_ptr<kernels::Platform> real_ = kernels::open_platform({});
  DirectDevice device_{*real_->devices()[0], fault};
  std::vector<kernels::Device*> devices_{&device_};
};

class Checkpoint : public testing::Test {
 protected:
  Checkpoint() {
    std::string name = (fs::current_path() / "checkpoint-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folder_ = name;
    options_.scratch_directory = name;
    options_.file_bytes = (std::size_t{40} << 20) + 4096;  // five blocks and a small one
  }
  ~Checkpoint() override { fs::remove_all(folder_); }

  Prepared prepared(kernels::Platform& platform, const std::string& id, const std::string& label = "125m") {
    const Benchmark& benchmark = benchmark_named(id);
    const std::vector<Case> cases = benchmark.cases(platform, options_);
    const auto found = std::find_if(cases.begin(), cases.end(), [&](const Case& one) { return one.label == label; });
    if (found == cases.end()) throw std::invalid_argument("no case " + label);
    chosen_ = *found;
    Setting setting{platform, world_, options_, chosen_, group_};
    return benchmark.prepare(setting);
  }
  std::vector<std::string> labels(kernels::Platform& platform, const std::string& id) const {
    std::vector<std::string> result;
    for (const Case& one : benchmark_named(id).cases(platform, options_)) result.push_back(one.label);
    return result;
  }
  bool nothing_left() const { return fs::is_empty(folder_); }

  fs::path folder_;
  Options options_;
  kernels::World world_;
  std::shared_ptr<kernels::Group> group_;
  Case chosen_;
};

void expect_sound(const Prepared& checkpoint, const std::string& id) {
  const Iteration iteration = checkpoint.run();
  EXPECT_GT(iteration.seconds, 0) << id;
  EXPECT_NO_THROW(checkpoint.verify()) << id;
  ASSERT_EQ(iteration.also.size(), 1U) << id;
  // The preset's 14 x 125e6 bytes at the rate of what was moved.
  EXPECT_NEAR(iteration.also[0].second, iteration.seconds * 1.75e9 / checkpoint.work, 1e-9 * iteration.also[0].second);
  checkpoint.spoil();
  EXPECT_THAT(failure(kernels::Outcome::wrong_result, checkpoint.verify), HasSubstr("the seed makes them")) << id;
  checkpoint.run();
  EXPECT_NO_THROW(checkpoint.verify()) << id;
}

TEST_F(Checkpoint, OfTheCpuIsSavedAndRestored) {
  const auto platform = kernels::open_platform({});
  for (const std::string id : {"checkpoint.save", "checkpoint.restore"}) {
    const Prepared checkpoint = prepared(*platform, id);
    EXPECT_EQ(checkpoint.work, options_.file_bytes);
    EXPECT_EQ(checkpoint.conditions["block_bytes"], (options_.file_bytes / 8) / 4096 * 4096);
    EXPECT_EQ(checkpoint.conditions["limited_by"], "--file-bytes");
    EXPECT_EQ(checkpoint.conditions["location"], "scratch");
    EXPECT_EQ(checkpoint.conditions["preset_bytes"], 1'750'000'000U);
    EXPECT_NE(checkpoint.conditions.contains("io_engine_reason"), checkpoint.conditions["io_engine"] == "io_uring");
    expect_sound(checkpoint, id);
    EXPECT_EQ(checkpoint.evidence()["storage"]["cached_pages"], 0U);
    EXPECT_TRUE(nothing_left()) << id;
  }
}

TEST_F(Checkpoint, OfTwoGpusIsSharedByThemOrEachHasAllOfIt) {
  test::FakePlatform platform{test::FakeOptions{}};
  EXPECT_THAT(labels(platform, "checkpoint.save"),
              ElementsAre("125m", "125m/each", "1.3b", "1.3b/each", "7b_block", "7b_block/each"));
  options_.file_bytes = std::size_t{10} << 20;
  for (const std::string id : {"checkpoint.save", "checkpoint.restore"}) {
    const Prepared together = prepared(platform, id);
    EXPECT_EQ(together.work, 2 * 10 << 20) << "both files";
    EXPECT_TRUE(together.run().device_seconds.empty()) << "the value is that of the whole";
    expect_sound(together, id);
    const Prepared each = prepared(platform, id, "125m/each");
    EXPECT_EQ(each.work, 10 << 20);
    EXPECT_EQ(each.run().device_seconds.size(), 2U);
    expect_sound(each, id);
  }
}

TEST_F(Checkpoint, SmallerThanItsBlocksStillWorks) {
  const auto platform = kernels::open_platform({});
  for (const std::size_t bytes : {1U, 4096U, 12288U, 100000U}) {
    options_.file_bytes = bytes;
    const Prepared checkpoint = prepared(*platform, "checkpoint.restore");
    EXPECT_EQ(checkpoint.work, std::max<std::size_t>(4096, bytes / 4096 * 4096));
    expect_sound(checkpoint, std::to_string(bytes));
  }
}

TEST_F(Checkpoint, WithoutASizeItIsWhatTheTimeAllows) {
  const auto platform = kernels::open_platform({});
  options_.file_bytes = 0;
  options_.max_bytes = std::size_t{3} << 20;
  const Prepared checkpoint = prepared(*platform, "checkpoint.save");
  EXPECT_EQ(checkpoint.work, 3 << 20);
  EXPECT_EQ(checkpoint.conditions["limited_by"], "--max-bytes");
  EXPECT_EQ(checkpoint.also_conditions["checkpoint.save.seconds"]["bytes"], 1.75e9);
  EXPECT_EQ(checkpoint.also_conditions["checkpoint.save.seconds"]["scaled"], true);
}

TEST_F(Checkpoint, AGivenDirectoryIsMeasuredAsWell) {
  const auto platform = kernels::open_platform({});
  EXPECT_THAT(labels(*platform, "checkpoint.save/dir"), IsEmpty());
  options_.checkpoint_directory = folder_.string();
  const Prepared checkpoint = prepared(*platform, "checkpoint.save/dir");
  EXPECT_EQ(checkpoint.conditions["location"], "checkpoint_dir");
  EXPECT_EQ(checkpoint.conditions["directory"], folder_.string());
  options_.checkpoint_directory = "/proc";
  EXPECT_THAT(failure(kernels::Outcome::failed, [&] { labels(*platform, "checkpoint.save/dir"); }), HasSubstr("/proc"));
  if (!fs::exists("/dev/shm")) return;
  options_.checkpoint_directory = "/dev/shm";
  EXPECT_THAT(failure(kernels::Outcome::unsupported, [&] { labels(*platform, "checkpoint.restore/dir"); }),
              HasSubstr("in memory, not on a disk; give a directory on a disk with --checkpoint-dir"));
}

TEST_F(Checkpoint, WithoutTheHostInBetween) {
  const auto cpu = kernels::open_platform({});
  EXPECT_THAT(failure(kernels::Outcome::unsupported, [&] { labels(*cpu, "checkpoint.save/gds"); }),
              HasSubstr("GPUDirect Storage"));
  DirectPlatform platform;
  for (const std::string id : {"checkpoint.save/gds", "checkpoint.restore/gds"}) {
    const Prepared checkpoint = prepared(platform, id);
    EXPECT_EQ(checkpoint.conditions["io_engine"], "cufile");
    EXPECT_EQ(checkpoint.conditions["cufile"]["library"], "test");
    expect_sound(checkpoint, id);
    EXPECT_TRUE(nothing_left()) << id;
  }
}

TEST_F(Checkpoint, ABlockThatNeverArrivesIsSeen) {
  DirectPlatform platform;
  const Prepared checkpoint = prepared(platform, "checkpoint.restore/gds");
  platform.fault = "read";
  checkpoint.run();
  EXPECT_THAT(failure(kernels::Outcome::wrong_result, checkpoint.verify),
              HasSubstr("the memory of device 0 after restoring: the 8 bytes at 0 are 0x0000000000000000"));
  platform.fault = "write";
  EXPECT_THAT(failure(kernels::Outcome::wrong_result, [&] { labels(platform, "checkpoint.save/gds"); }),
              HasSubstr("this one writes nothing"));
}

}  // namespace
}  // namespace claimcheck::bench
