// A file written and read as a checkpoint is: large blocks from several threads, past the page cache, with content that
// no layer can compress or share, and that says where it belongs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/scratch_file.h"
#include "kernels/device.h"

namespace claimcheck::bench {

class CheckpointFile {
 public:
  static constexpr std::size_t threads = 4;
  static constexpr std::size_t largest_block_bytes = std::size_t{16} << 20;

  // `bytes` is rounded to whole blocks: of 16 MiB, or of a quarter of a smaller file.
  CheckpointFile(const std::string& directory, std::size_t bytes, std::uint64_t seed, kernels::Duration deadline);

  // Both return the seconds they took on the steady clock. write() ends with fsync and changes every page.
  double write();
  double read();
  // Compares every byte with what write() wrote; throws wrong_result with the place. Proves with mincore() that no page
  // of the file is in memory before and after.
  void verify();
  void spoil() { file_.flip_bit(file_.size_bytes() / 2 + 1234); }
  // Throws unless the kernel counted as many bytes from devices as read() and verify() have read.
  void check_device_reads() const;

  std::size_t size_bytes() const { return file_.size_bytes(); }
  std::size_t block_bytes() const { return block_bytes_; }
  kernels::Facts facts() const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  using Block = std::unique_ptr<std::byte[], Free>;  // aligned for O_DIRECT

  enum class Check { one_page, all };

  Block make_block() const;
  void stamp(std::byte* block, std::size_t number) const;
  double on_all_blocks(const std::function<void(std::size_t number, std::byte* block, std::size_t thread)>& work);
  double read_checked(Check check);
  void check_page(std::size_t number, std::size_t page, const std::byte* actual, std::size_t thread) const;
  void check_cache(const char* when) const;

  ScratchFile file_;
  std::size_t block_bytes_;
  std::uint64_t seed_;
  kernels::Duration deadline_;
  std::uint64_t round_ = 0;     // of writing
  std::vector<Block> random_;   // of each thread: what its blocks hold, but for the stamps
  std::vector<Block> working_;  // of each thread
  std::uint64_t read_bytes_ = 0;
  std::optional<std::uint64_t> device_bytes_before_ = bytes_read_from_devices();
};

}  // namespace claimcheck::bench
