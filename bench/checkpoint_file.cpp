#include "bench/checkpoint_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <new>
#include <random>

namespace claimcheck::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t page_bytes = 4096;

// At the start of every page: where and when it was written. Makes each page of the file different from every other.
using Stamp = std::array<std::uint64_t, 4>;

std::size_t block_bytes_of(std::size_t file_bytes) {
  return std::clamp(file_bytes / CheckpointFile::threads / page_bytes * page_bytes, page_bytes,
                    CheckpointFile::largest_block_bytes);
}

}  // namespace

void CheckpointFile::Free::operator()(std::byte* memory) const { std::free(memory); }

CheckpointFile::CheckpointFile(const std::string& directory, std::size_t bytes, std::uint64_t seed,
                               kernels::Duration deadline)
    : file_(directory, block_bytes_of(bytes) * std::max(threads, bytes / block_bytes_of(bytes))),
      block_bytes_(block_bytes_of(bytes)),
      seed_(seed),
      deadline_(deadline) {
  for (std::size_t thread = 0; thread < threads; ++thread) {
    std::mt19937_64 random(seed + thread);
    random_.push_back(make_block());
    working_.push_back(make_block());
    for (std::size_t at = 0; at < block_bytes_; at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random();
      std::memcpy(random_.back().get() + at, &word, sizeof word);
    }
    std::memcpy(working_.back().get(), random_.back().get(), block_bytes_);
  }
}

CheckpointFile::Block CheckpointFile::make_block() const {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(page_bytes, block_bytes_));
  if (memory == nullptr) throw std::bad_alloc();
  return Block(memory);
}

void CheckpointFile::stamp(std::byte* block, std::size_t number) const {
  for (std::size_t page = 0; page < block_bytes_ / page_bytes; ++page) {
    const Stamp stamp = {seed_, round_, number, page};
    std::memcpy(block + page * page_bytes, stamp.data(), sizeof stamp);
  }
}

double CheckpointFile::on_all_blocks(
    const std::function<void(std::size_t number, std::byte* block, std::size_t thread)>& work) {
  const std::size_t blocks = file_.size_bytes() / block_bytes_;
  const Clock::time_point start = Clock::now();
  std::vector<std::future<void>> workers;
  for (std::size_t thread = 0; thread < threads; ++thread)
    workers.push_back(std::async(std::launch::async, [&, thread] {
      for (std::size_t number = thread; number < blocks; number += threads) {
        if (Clock::now() - start > deadline_)
          throw kernels::Error(
              {.outcome = kernels::Outcome::timed_out,
               .library = "claimcheck",
               .code = {},
               .text = fmt::format("block {} of {} was not reached within {:g} s", number, blocks, deadline_.count()),
               .remedy = "choose --file-bytes smaller or a longer deadline"});
        work(number, working_[thread].get(), thread);
      }
    }));
  for (std::future<void>& worker : workers) worker.wait();
  for (std::future<void>& worker : workers) worker.get();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double CheckpointFile::write() {
  ++round_;
  // A read leaves other blocks behind, the same but for the stamps.
  const double writing = on_all_blocks([this](std::size_t number, std::byte* block, std::size_t) {
    stamp(block, number);
    file_.write(number * block_bytes_, block, block_bytes_);
  });
  const Clock::time_point start = Clock::now();
  file_.sync();
  return writing + std::chrono::duration<double>(Clock::now() - start).count();
}

double CheckpointFile::read() { return read_checked(Check::one_page); }

double CheckpointFile::read_checked(Check check) {
  const double seconds = on_all_blocks([&](std::size_t number, std::byte* block, std::size_t thread) {
    file_.read(number * block_bytes_, block, block_bytes_);
    const std::size_t pages = check == Check::all ? block_bytes_ / page_bytes : 1;
    for (std::size_t page = 0; page < pages; ++page) check_page(number, page, block + page * page_bytes, thread);
  });
  read_bytes_ += file_.size_bytes() / block_bytes_ * block_bytes_;
  return seconds;
}

void CheckpointFile::check_page(std::size_t number, std::size_t page, const std::byte* actual,
                                std::size_t thread) const {
  const Stamp stamp = {seed_, round_, number, page};
  const std::byte* const rest = random_[thread].get() + page * page_bytes + sizeof stamp;
  if (std::memcmp(actual, stamp.data(), sizeof stamp) == 0 &&
      std::memcmp(actual + sizeof stamp, rest, page_bytes - sizeof stamp) == 0)
    return;
  throw kernels::wrong_result(fmt::format("the file's page at byte {} is not what was written there",
                                          number * block_bytes_ + page * page_bytes));
}

void CheckpointFile::check_cache(const char* when) const {
  const std::size_t pages = cached_pages(file_.descriptor(), file_.size_bytes());
  if (pages == 0) return;
  throw kernels::unsupported(
      fmt::format("{} pages of the file were in the page cache {} reading, so this would not measure the disk", pages,
                  when),
      "give a directory on another file system with --scratch");
}

void CheckpointFile::verify() {
  // What allocation or another process brought in; our own accesses bring nothing.
  posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  check_cache("before");
  read_checked(Check::all);
  check_cache("after");
}

void CheckpointFile::check_device_reads() const {
  const std::optional<std::uint64_t> now = bytes_read_from_devices();
  if (!now || !device_bytes_before_ || *now - *device_bytes_before_ >= read_bytes_) return;
  throw kernels::unsupported(
      fmt::format("{} bytes were read but the kernel counted only {} from devices, so this would not measure a disk",
                  read_bytes_, *now - *device_bytes_before_),
      "give a directory on a local disk with --scratch");
}

kernels::Facts CheckpointFile::facts() const {
  const std::optional<std::uint64_t> now = bytes_read_from_devices();
  kernels::Fact counted;
  if (now && device_bytes_before_) counted = static_cast<std::int64_t>(*now - *device_bytes_before_);
  return {{"page_cache", std::string("O_DIRECT; mincore() found no page of the file before and after reading")},
          {"read_bytes", static_cast<std::int64_t>(read_bytes_)},
          {"read_bytes_counted_by_the_kernel", counted},
          {"cached_pages", static_cast<std::int64_t>(cached_pages(file_.descriptor(), file_.size_bytes()))}};
}

}  // namespace claimcheck::bench
