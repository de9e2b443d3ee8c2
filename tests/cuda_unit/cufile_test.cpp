// GPUDirect Storage by a library of our own: the bytes that arrive, and a sentence for each way it can fail.
#include "kernels/cuda/cufile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace claimcheck::kernels::cuda {
namespace {

using testing::HasSubstr;

constexpr std::size_t bytes = std::size_t{3} << 20;  // more than the library moves in one call

class Memory final : public Buffer {
 public:
  explicit Memory(char value) : Buffer(nullptr, bytes, Placement::device), content(bytes, value) {
    address_ = content.data();
  }
  std::vector<char> content;
};

class CuFileTest : public testing::Test {
 protected:
  ~CuFileTest() override { unsetenv("FAKE_CUFILE"); }

  // With `fault` from now on.
  const CuFileLibrary& library(const char* fault = "") {
    setenv("FAKE_CUFILE", fault, 1);
    library_ = std::make_unique<CuFileLibrary>(CLAIMCHECK_FAKE_CUFILE);
    return *library_;
  }
  std::string failure(const std::function<void()>& work, Outcome outcome) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.detail().outcome, outcome);
      return error.what();
    }
    return "nothing was thrown";
  }
  int file() const { return fileno(file_.get()); }

  std::unique_ptr<CuFileLibrary> library_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
};

TEST_F(CuFileTest, MovesBothWays) {
  Memory saved('s');
  saved.content[bytes - 1] = 'e';
  Memory restored('?');
  library();
  const auto write = open_direct_file(*library_, -1, file(), saved);
  write->write(0, saved);
  write->write(bytes, Slice(saved, bytes - 4096, 4096));
  const auto read = open_direct_file(*library_, -1, file(), restored);
  read->read(0, restored);
  EXPECT_EQ(restored.content, saved.content);
  read->read(bytes, Slice(restored, 0, 4096));
  EXPECT_EQ(restored.content[4095], 'e');
  EXPECT_EQ(restored.content[4096], 's');
  const Facts facts = read->facts();
  EXPECT_EQ(facts[1], (Facts::value_type{"version", std::string("1.15")}));
  EXPECT_EQ(facts[2], (Facts::value_type{"memory_registered", true}));
}

TEST_F(CuFileTest, MemoryThatCannotBePinnedIsMovedAllTheSame) {
  Memory memory('m');
  const auto direct = open_direct_file(library("memory"), -1, file(), memory);
  direct->write(0, memory);
  EXPECT_EQ(lseek(file(), 0, SEEK_END), static_cast<off_t>(bytes));
  EXPECT_EQ(direct->facts()[2], (Facts::value_type{"memory_registered", false}));
}

TEST_F(CuFileTest, WhatCannotBeDirectIsUnsupportedWithTheReason) {
  Memory memory('m');
  const auto reason = [&](const char* fault) {
    return failure([&] { open_direct_file(library(fault), -1, file(), memory); }, Outcome::unsupported);
  };
  EXPECT_THAT(reason("driver"),
              HasSubstr("does not start: the nvidia-fs driver is not loaded (cuFile 5001); gdscheck"));
  EXPECT_THAT(reason("file"), HasSubstr("not supported on this file system (cuFile 5008); gdscheck"));
  EXPECT_THAT(reason("cuda"), HasSubstr("the CUDA driver failed (cuFile 5011, CUDA 101)"));
  const CuFileLibrary missing("libclaimcheck_none.so.0");
  EXPECT_THAT(failure([&] { open_direct_file(missing, -1, file(), memory); }, Outcome::unsupported),
              HasSubstr("libclaimcheck_none.so.0 cannot be loaded; install libcufile"));
  const CuFileLibrary another(CLAIMCHECK_FAKE_NVML);
  EXPECT_THAT(failure([&] { open_direct_file(another, -1, file(), memory); }, Outcome::unsupported),
              HasSubstr("lacks functions of GPUDirect Storage"));
}

TEST_F(CuFileTest, WhatFailsUnderWaySaysWhereAndWhy) {
  Memory memory('m');
  const auto full = open_direct_file(library("write"), -1, file(), memory);
  EXPECT_THAT(failure([&] { full->write(4096, Slice(memory, 0, 4096)); }, Outcome::failed),
              HasSubstr("cannot be written at byte 4096: No space left on device (errno 28)"));
  const auto broken = open_direct_file(library("read"), -1, file(), memory);
  EXPECT_THAT(failure([&] { broken->read(0, memory); }, Outcome::failed),
              HasSubstr("cannot be read at byte 0: reading or writing failed (cuFile 5044)"));
  const auto empty = open_direct_file(library(), -1, file(), memory);
  EXPECT_THAT(failure([&] { empty->read(0, memory); }, Outcome::wrong_result), HasSubstr("the file ends at byte 0"));
  Memory other('o');
  EXPECT_THAT(failure([&] { empty->write(0, other); }, Outcome::failed), HasSubstr("it was opened for"));
}

}  // namespace
}  // namespace claimcheck::kernels::cuda
