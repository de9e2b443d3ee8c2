#include "tests/virtual_platform/emulator/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "tests/virtual_platform/emulator/block.h"
#include "tests/virtual_platform/engine/device.h"
#include "tests/virtual_platform/engine/parallel.h"

namespace virtual_platform {

__thread Accounting accounting __attribute__((tls_model("initial-exec")));

static_assert(accounting_granule_bits == granule_bits);

namespace {

// The windows of one thread of the operating system, for the grid it last worked on.
struct Account {
  std::uint64_t grid = 0;
  std::vector<Window> windows = std::vector<Window>(most_allocations);
};

class Accounts {
 public:
  // Windows ready for the grid, at the first block of each thread.
  void open(std::uint64_t grid, int device_index) {
    thread_local Account* mine = nullptr;
    if (mine == nullptr) {
      const std::lock_guard lock(mutex_);
      all_.push_back(std::make_unique<Account>());
      mine = all_.back().get();
    }
    const AddressSpace& space = address_space();
    if (mine->grid != grid) {
      mine->grid = grid;
      for (std::size_t slot = 0; slot < space.slots_used; ++slot) mine->windows[slot] = window(slot, device_index);
    }
    accounting = {space.private_begin, space.visible_begin, space.bytes, space.owners.data(), mine->windows.data()};
  }

  std::vector<Traffic> total(std::uint64_t grid) {
    const std::lock_guard lock(mutex_);
    std::vector<Traffic> result;
    for (std::size_t slot = 1; slot < address_space().slots_used; ++slot) {
      const Traffic one = total(grid, slot);
      if (one.read_bytes + one.written_bytes > 0) result.push_back(one);
    }
    return result;
  }

 private:
  static bool may_touch(const Allocation& allocation, int device_index) {
    if (allocation.device == host || allocation.device == device_index) return true;
    return ((device(device_index).peers >> allocation.device) & 1U) != 0;
  }

  static Window window(std::size_t slot, int device_index) {
    Window result;
    const Allocation& allocation = address_space().allocations[slot];
    if (slot == 0 || allocation.bytes == 0 || !may_touch(allocation, device_index)) return result;
    result.begin = allocation.begin - address_space().visible_begin;
    result.end = result.begin + allocation.bytes;
    return result;
  }

  Traffic total(std::uint64_t grid, std::size_t slot) const {
    Window sum;
    bool written_after_read = false;
    for (const auto& account : all_) {
      if (account->grid != grid) continue;
      const Window& window = account->windows[slot];
      sum.read_bytes += window.read_bytes;
      sum.written_bytes += window.written_bytes;
      sum.first_read = std::min(sum.first_read, window.first_read);
      sum.end_read = std::max(sum.end_read, window.end_read);
      sum.first_written = std::min(sum.first_written, window.first_written);
      sum.end_written = std::max(sum.end_written, window.end_written);
      written_after_read |= window.written_after_read;
    }
    const std::size_t start = address_space().allocations[slot].begin - address_space().visible_begin;
    Traffic traffic{slot, sum.read_bytes, sum.written_bytes, {}, {}, false};
    if (sum.read_bytes > 0) traffic.read = {sum.first_read - start, sum.end_read - start};
    if (sum.written_bytes > 0) traffic.written = {sum.first_written - start, sum.end_written - start};
    // Every byte of the extent was written once, and no read came before a write.
    traffic.reads_own = !written_after_read && traffic.read.within(traffic.written) &&
                        traffic.written.end - traffic.written.begin == traffic.written_bytes;
    return traffic;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Account>> all_;
};

Accounts& accounts() {
  static Accounts& one = *new Accounts;
  return one;
}

uint3 block_index(const uint3& blocks, std::size_t number) {
  const auto index = static_cast<unsigned>(number);
  return {index % blocks.x, index / blocks.x % blocks.y, index / (blocks.x * blocks.y)};
}

}  // namespace

void refuse_access(const void* address, std::size_t bytes, bool write) {
  Block& block = Block::of_this_thread();
  if (!block.is_running()) std::abort();  // nobody's kernel
  const Address seen = visible(reinterpret_cast<Address>(address));
  const Allocation* allocation = seen == 0 ? nullptr : find_allocation(seen);
  const char* why = "is in no allocation";
  if (seen == 0) why = "came out of memory or is null: kernels can use addresses given as arguments only";
  if (allocation != nullptr) why = "is in a peer's memory, to which access is not enabled";
  block.fail(fmt::format("{} of {} bytes at {:#x} by thread ({}, {}, {}) of block ({}, {}, {}): the address {}",
                         write ? "write" : "read", bytes, seen == 0 ? reinterpret_cast<Address>(address) : seen,
                         threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z, why));
}

GridReport run_grid(const Grid& grid, void* const* arguments) {
  static std::uint64_t number = 0;
  const std::uint64_t mine = ++number;
  const std::size_t count = std::size_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
  constexpr std::size_t pieces = 64;
  const std::size_t piece = std::max<std::size_t>(1, count / pieces);
  std::mutex mutex;
  std::atomic<bool> failed = false;
  GridReport report;
  parallel_pieces(count, piece, [&](std::size_t first, std::size_t blocks) {
    accounts().open(mine, grid.device);
    for (std::size_t i = first; i < first + blocks && !failed; ++i) {
      Block& block = Block::of_this_thread();
      if (block.run(*grid.kernel, arguments, block_index(grid.blocks, i), grid.threads, grid.blocks)) continue;
      const std::lock_guard lock(mutex);
      failed = true;
      report.error = block.error();
    }
    accounting = {};
  });
  report.traffic = accounts().total(mine);
  return report;
}

}  // namespace virtual_platform
