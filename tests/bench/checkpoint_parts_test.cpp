// The parts of a checkpoint: what the seed makes, where a directory lies, files that leave nothing behind, and blocks
// on their way, by both engines and with each way they can fail.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/block_queue.h"
#include "bench/checkpoint_content.h"
#include "bench/checkpoint_place.h"
#include "bench/published_file.h"

namespace claimcheck::bench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Direction = BlockQueue::Direction;
using Naming = PublishedFile::Naming;

std::string failure(kernels::Outcome outcome, const std::function<void()>& work) {
  try {
    work();
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.detail().outcome, outcome) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

// A folder on a disk, beside the build.
class CheckpointFolder : public testing::Test {
 protected:
  CheckpointFolder() {
    std::string name = (fs::current_path() / "checkpoint-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folder_ = name;
    place_ = look_at(name, "--checkpoint-dir");
  }
  ~CheckpointFolder() override { fs::remove_all(folder_); }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(folder_)) result.push_back(entry.path().filename().string());
    return result;
  }
  // In a process of its own, which then ends without a word.
  void in_child(const std::function<void()>& work) const {
    const pid_t child = fork();
    if (child == 0) {
      work();
      raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child failed before its end";
  }

  fs::path folder_;
  CheckpointPlace place_;
};

// ---------------------------------------------------------------------------------------------- content

TEST(CheckpointContent, IsSplitMix64OfThePlace) {
  // Worked out with another program: key = word 7 of 0x636b7074, then words 0, 1 and 512 of that key.
  std::array<std::uint64_t, 513> words{};
  make_content(7, 0, std::as_writable_bytes(std::span(words)));
  EXPECT_EQ(words[0], 0xc9a3a843adf22d62U);
  EXPECT_EQ(words[1], 0x57a5193aae65faeeU);
  EXPECT_EQ(words[512], 0xd3b858488f877ee4U);
  std::uint64_t alone = 0;
  make_content(7, 512 * 8, std::as_writable_bytes(std::span(&alone, 1)));
  EXPECT_EQ(alone, words[512]);
}

TEST(CheckpointContent, OneBitIsFoundWithItsPlace) {
  std::vector<std::byte> content(8192);
  make_content(3, 4096, content);
  EXPECT_NO_THROW(check_content(3, 4096, content, "the file"));
  EXPECT_THROW(check_content(4, 4096, content, "the file"), kernels::Error);
  content[5000] ^= std::byte{16};
  EXPECT_THAT(failure(kernels::Outcome::wrong_result, [&] { check_content(3, 4096, content, "the file"); }),
              HasSubstr("the file: the 8 bytes at 9096 are 0x"));
}

// ---------------------------------------------------------------------------------------------- places

constexpr const char* mountinfo =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n"
    "31 27 259:3 / /scratch rw,noatime shared:5 master:2 - xfs /dev/md0 rw,attr2\n"
    "32 27 0:50 / /home/my\\040data rw - nfs4 files.example:/home rw,vers=4.2\n"
    "33 27 0:51 / /lustre rw - lustre 10.0.0.1@tcp:/fs rw\n"
    "34 31 0:52 / /scratch rw - overlay overlay rw,lowerdir=/a\n"
    "broken line\n";

TEST(CheckpointPlace, NamesTheFileSystemAndItsDeviceButNoServer) {
  const auto mount = [](const std::string& path) {
    const Mount found = mount_of(mountinfo, path);
    return found.type + ' ' + found.source;
  };
  EXPECT_EQ(mount("/var/tmp"), "ext4 /dev/nvme0n1p1");
  EXPECT_EQ(mount("/home/my data/x"), "nfs4 ");
  EXPECT_EQ(mount("/lustre"), "lustre ");
  EXPECT_EQ(mount("/lustre2"), "ext4 /dev/nvme0n1p1") << "a longer name is another folder";
  EXPECT_EQ(mount("/scratch/a"), "overlay ") << "the later mount hides the earlier one";
  EXPECT_EQ(mount_of("", "/x").type, "");
}

TEST_F(CheckpointFolder, LooksAtADisk) {
  EXPECT_FALSE(place_.mount.type.empty());
  EXPECT_GT(place_.free_bytes, 0U);
  EXPECT_EQ(place_.option, "--checkpoint-dir");
}

TEST_F(CheckpointFolder, WhatIsNoPlaceForACheckpointSaysWhy) {
  EXPECT_THAT(failure(kernels::Outcome::failed, [&] { look_at(folder_ / "none", "--checkpoint-dir"); }),
              AllOf(HasSubstr("none of --checkpoint-dir cannot be used"), HasSubstr("ENOENT"),
                    HasSubstr("another directory with --checkpoint-dir")));
  EXPECT_THAT(failure(kernels::Outcome::failed, [&] { look_at("/proc/version", "--scratch"); }),
              HasSubstr("is no directory"));
  if (fs::exists("/dev/shm")) {
    EXPECT_THAT(failure(kernels::Outcome::unsupported, [&] { look_at("/dev/shm", "--checkpoint-dir"); }),
                HasSubstr("/dev/shm is in memory, not on a disk; give a directory on a disk with --checkpoint-dir"));
  }
}

TEST_F(CheckpointFolder, ADirectoryThatCannotBeWrittenToSaysSo) {
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  const uid_t before = geteuid();
  EXPECT_TRUE(before != 0 || seteuid(65534) == 0);  // root may write everywhere
  const std::string sentence =
      failure(kernels::Outcome::failed, [&] { look_at(folder_.string(), "--checkpoint-dir"); });
  EXPECT_TRUE(before != 0 || seteuid(before) == 0);
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_THAT(sentence, AllOf(HasSubstr("no file can be made in the directory"), HasSubstr("EACCES")));
}

// ---------------------------------------------------------------------------------------------- files

TEST_F(CheckpointFolder, AFileHasNoNameUntilItIsWhole) {
  for (const Naming naming : {Naming::late, Naming::early}) {
    PublishedFile file(place_, 8192, naming);
    if (!file.had_name_early()) {
      EXPECT_THAT(names(), IsEmpty());
    } else {
      ASSERT_EQ(names().size(), 1U);
      EXPECT_TRUE(names()[0].ends_with(".part"));
    }
    file.publish();
    ASSERT_EQ(names().size(), 1U);
    EXPECT_TRUE(names()[0].starts_with("claimcheck-checkpoint-"));
    EXPECT_EQ(fs::path(names()[0]).extension(), "");
    EXPECT_EQ(fs::file_size(folder_ / names()[0]), 8192U);
    file.withdraw();
    EXPECT_THAT(names(), IsEmpty());
    EXPECT_NO_THROW(file.flip_bit(5000)) << "the content stays";
  }
}

TEST_F(CheckpointFolder, NothingIsLeftBehind) {
  { PublishedFile(place_, 4096, Naming::late).publish(); }
  EXPECT_THAT(names(), IsEmpty());
  in_child([this] { static const PublishedFile file(place_, std::size_t{1} << 20, Naming::late); });
  remove_abandoned_files(place_.directory);
  EXPECT_THAT(names(), IsEmpty());
  in_child([this] { static const PublishedFile file(place_, 4096, Naming::early); });
  EXPECT_EQ(names().size(), 1U) << "a crash leaves what had a name";
  const PublishedFile living(place_, 4096, Naming::early);
  const int other = open((folder_ / "claimcheck-checks").c_str(), O_CREAT | O_CLOEXEC, 0600);
  close(other);
  remove_abandoned_files(place_.directory);
  std::vector<std::string> left = names();
  std::sort(left.begin(), left.end());
  ASSERT_EQ(left.size(), 2U) << "the abandoned one is gone, others stay";
  EXPECT_THAT(left[0], HasSubstr("claimcheck-checkpoint-" + std::to_string(getpid())));
  EXPECT_EQ(left[1], "claimcheck-checks");
}

TEST_F(CheckpointFolder, AFileLargerThanAllowedSaysWhichLimit) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string sentence =
      failure(kernels::Outcome::failed, [&] { PublishedFile(place_, std::size_t{2} << 20, Naming::late); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(sentence, AllOf(HasSubstr("a file of 2 MiB is larger than this process may make"), HasSubstr("EFBIG"),
                              HasSubstr("ulimit -f")));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(CheckpointFolder, MoreThanTheDiskHasIsRefused) {
  const std::size_t much = place_.free_bytes / 4096 * 4096 + (std::size_t{1} << 44);
  const std::string sentence = [&] {
    try {
      const PublishedFile file(place_, much, Naming::late);
    } catch (const kernels::Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  }();
  EXPECT_THAT(sentence, HasSubstr("choose --file-bytes smaller"));
  EXPECT_THAT(names(), IsEmpty());
}

// ---------------------------------------------------------------------------------------------- blocks

constexpr std::size_t block = std::size_t{64} << 10;

struct AlignedBlocks {
  alignas(4096) std::array<std::byte, 4 * block> bytes{};
  std::span<std::byte> operator[](std::size_t slot) { return std::span(bytes).subspan(slot * block, block); }
};

class Queues : public CheckpointFolder, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    try {
      queue_ = std::string(GetParam()) == "threads" ? make_thread_queue(4) : make_uring_queue(4);
    } catch (const kernels::Error& error) {
      GTEST_SKIP() << error.what();
    }
    EXPECT_EQ(queue_->engine(), GetParam());
  }
  std::unique_ptr<AlignedBlocks> memory_ = std::make_unique<AlignedBlocks>();  // outlives the queue
  std::unique_ptr<BlockQueue> queue_;
  const kernels::Duration patient_{30};
};

TEST_P(Queues, BlocksArriveWhereTheyBelong) {
  PublishedFile file(place_, 4 * block, Naming::late);
  make_content(1, 0, memory_->bytes);
  for (const std::size_t slot : {2U, 0U, 3U, 1U})
    queue_->submit(slot, Direction::write, file.descriptor(), slot * block, (*memory_)[slot]);
  queue_->wait_for_all(patient_);
  memory_->bytes.fill(std::byte{0});
  for (const std::size_t slot : {1U, 3U, 0U, 2U})
    queue_->submit(slot, Direction::read, file.descriptor(), slot * block, (*memory_)[slot]);
  queue_->wait_for_all(patient_);
  EXPECT_NO_THROW(check_content(1, 0, memory_->bytes, "the file"));
  queue_->wait_for_all(patient_);  // nothing on its way: at once
}

TEST_P(Queues, AFullDiskIsOneSentence) {
  const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
  ASSERT_GE(full, 0);
  queue_->submit(0, Direction::write, full, 3 * block, (*memory_)[0]);
  EXPECT_THAT(failure(kernels::Outcome::failed, [&] { queue_->wait(0, patient_); }),
              AllOf(HasSubstr("the disk was full at byte 196608 of the file"), HasSubstr("ENOSPC"),
                    HasSubstr("choose --file-bytes smaller")));
  close(full);
}

TEST_P(Queues, AFileThatEndsTooEarlyIsAWrongResult) {
  PublishedFile file(place_, block, Naming::late);
  queue_->submit(1, Direction::read, file.descriptor(), block, (*memory_)[1]);
  EXPECT_THAT(failure(kernels::Outcome::wrong_result, [&] { queue_->wait(1, patient_); }),
              HasSubstr("the file ends at byte 65536; 65536 more were expected"));
}

TEST_P(Queues, AFileThatIsNotThereIsOneSentence) {
  queue_->submit(0, Direction::read, -1, 0, (*memory_)[0]);
  EXPECT_THAT(failure(kernels::Outcome::failed, [&] { queue_->wait(0, patient_); }),
              AllOf(HasSubstr("the file cannot be read at byte 0"), HasSubstr("EBADF")));
}

INSTANTIATE_TEST_SUITE_P(Engines, Queues, testing::Values("io_uring", "threads"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(UringQueue, AnAnswerThatDoesNotComeIsTimedOut) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  std::array<std::byte, 8> memory{};
  try {
    const std::unique_ptr<BlockQueue> queue = make_uring_queue(1);
    queue->submit(0, Direction::read, ends[0], 0, memory);
    EXPECT_THAT(failure(kernels::Outcome::timed_out, [&] { queue->wait(0, kernels::Duration(0.02)); }),
                HasSubstr("a block at byte 0 was not read within 0.02 s"));
    ASSERT_EQ(write(ends[1], "12345678", 8), 8);
    EXPECT_NO_THROW(queue->wait(0, kernels::Duration(30)));
    EXPECT_EQ(memory[7], std::byte{'8'});
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.detail().outcome, kernels::Outcome::unsupported) << error.what();
  }
  close(ends[0]);
  close(ends[1]);
}

TEST(ChosenQueue, SaysWhyItIsNotIoUring) {
  const ChosenQueue chosen = make_block_queue(2);
  EXPECT_EQ(chosen.reason.empty(), chosen.queue->engine() == "io_uring") << chosen.reason;
}

}  // namespace
}  // namespace claimcheck::bench
