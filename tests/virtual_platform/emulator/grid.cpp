#include "tests/virtual_platform/emulator/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>

#include "tests/virtual_platform/emulator/block.h"
#include "tests/virtual_platform/engine/device.h"
#include "tests/virtual_platform/engine/parallel.h"

namespace virtual_platform {

__thread Accounting accounting __attribute__((tls_model("initial-exec")));

static_assert(accounting_granule_bits == granule_bits);

namespace {

// What one thread of the operating system saw of the grid it last worked on.
struct Account {
  std::uint64_t grid = 0;
  std::vector<Window> windows = std::vector<Window>(most_allocations);  // of the units since open()
  std::vector<Window> totals = std::vector<Window>(most_allocations);
  std::vector<UnitWrite> unit_writes;
};

void add(Window& total, const Window& more) {
  total.read_bytes += more.read_bytes;
  total.written_bytes += more.written_bytes;
  total.first_read = std::min(total.first_read, more.first_read);
  total.end_read = std::max(total.end_read, more.end_read);
  total.first_written = std::min(total.first_written, more.first_written);
  total.end_written = std::max(total.end_written, more.end_written);
  total.written_after_read |= more.written_after_read;
}

std::size_t start_of(std::size_t slot) {
  return address_space().allocations[slot].begin - address_space().visible_begin;
}

class Accounts {
 public:
  // Every load and store of this thread counts for the grid until close().
  void open(std::uint64_t grid, int device_index) {
    Account& mine = of_this_thread();
    const AddressSpace& space = address_space();
    if (mine.grid != grid) {
      mine.grid = grid;
      mine.unit_writes.clear();
      std::fill_n(mine.totals.begin(), space.slots_used, Window{});
    }
    for (std::size_t slot = 0; slot < space.slots_used; ++slot) mine.windows[slot] = window(slot, device_index);
    accounting = {space.private_begin, space.visible_begin, space.bytes, space.owners.data(), mine.windows.data()};
  }

  void close(bool by_unit, std::size_t unit) {
    Account& mine = of_this_thread();
    accounting = {};
    for (std::size_t slot = 1; slot < address_space().slots_used; ++slot) {
      const Window& window = mine.windows[slot];
      if (window.read_bytes + window.written_bytes == 0) continue;
      add(mine.totals[slot], window);
      if (by_unit && window.written_bytes > 0)
        mine.unit_writes.push_back(
            {unit, slot, {window.first_written - start_of(slot), window.end_written - start_of(slot)}});
    }
  }

  void total(std::uint64_t grid, GridReport& report) {
    const std::lock_guard lock(mutex_);
    for (std::size_t slot = 1; slot < address_space().slots_used; ++slot) {
      const Traffic one = total(grid, slot);
      if (one.read_bytes + one.written_bytes > 0) report.traffic.push_back(one);
    }
    for (const auto& account : all_)
      if (account->grid == grid)
        report.unit_writes.insert(report.unit_writes.end(), account->unit_writes.begin(), account->unit_writes.end());
  }

 private:
  Account& of_this_thread() {
    thread_local Account* mine = nullptr;
    if (mine == nullptr) {
      const std::lock_guard lock(mutex_);
      all_.push_back(std::make_unique<Account>());
      mine = all_.back().get();
    }
    return *mine;
  }

  static bool may_touch(const Allocation& allocation, int device_index) {
    if (allocation.device == host || allocation.device == device_index) return true;
    return ((device(device_index).peers >> allocation.device) & 1U) != 0;
  }

  static Window window(std::size_t slot, int device_index) {
    Window result;
    const Allocation& allocation = address_space().allocations[slot];
    if (slot == 0 || allocation.bytes == 0 || !may_touch(allocation, device_index)) return result;
    result.begin = start_of(slot);
    result.end = result.begin + allocation.bytes;
    return result;
  }

  Traffic total(std::uint64_t grid, std::size_t slot) const {
    Window sum;
    for (const auto& account : all_)
      if (account->grid == grid) add(sum, account->totals[slot]);
    const std::size_t start = start_of(slot);
    Traffic traffic{slot, sum.read_bytes, sum.written_bytes, {}, {}, false};
    if (sum.read_bytes > 0) traffic.read = {sum.first_read - start, sum.end_read - start};
    if (sum.written_bytes > 0) traffic.written = {sum.first_written - start, sum.end_written - start};
    // Every byte of the extent was written once, and no read came before a write.
    traffic.reads_own = !sum.written_after_read && traffic.read.within(traffic.written) &&
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

GridReport run_units(const Grid& grid, void* const* arguments, const std::vector<std::size_t>& units) {
  static std::uint64_t number = 0;
  const std::uint64_t mine = ++number;
  const std::uint32_t threads = grid.threads.x * grid.threads.y * grid.threads.z;
  constexpr std::size_t pieces = 64;
  const std::size_t piece = grid.by_warp ? 1 : std::max<std::size_t>(1, units.size() / pieces);
  std::mutex mutex;
  std::atomic<bool> failed = false;
  GridReport report;
  parallel_pieces(units.size(), piece, [&](std::size_t first, std::size_t count) {
    accounts().open(mine, grid.device);
    Block& block = Block::of_this_thread();
    for (std::size_t i = first; i < first + count && !failed; ++i) {
      const std::size_t warp = units[i] % grid.units_of_block();
      const auto start = static_cast<std::uint32_t>(warp * 32);
      const Block::Part part = {start, grid.by_warp ? std::min<std::uint32_t>(32, threads - start) : threads};
      const uint3 index = block_index(grid.blocks, units[i] / grid.units_of_block());
      if (block.run(*grid.kernel, arguments, index, grid.threads, grid.blocks, part)) continue;
      const std::lock_guard lock(mutex);
      failed = true;
      report.error = block.error();
    }
    accounts().close(grid.by_warp, units[first]);
  });
  accounts().total(mine, report);
  return report;
}

GridReport run_grid(const Grid& grid, void* const* arguments) {
  std::vector<std::size_t> units(grid.units());
  std::iota(units.begin(), units.end(), std::size_t{0});
  return run_units(grid, arguments, units);
}

}  // namespace virtual_platform
