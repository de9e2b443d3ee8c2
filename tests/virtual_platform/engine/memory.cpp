#include "tests/virtual_platform/engine/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "tests/virtual_platform/engine/address_space.h"
#include "tests/virtual_platform/engine/device.h"
#include "tests/virtual_platform/engine/parallel.h"

namespace virtual_platform {

namespace {

constexpr std::size_t granule = std::size_t{1} << granule_bits;
constexpr std::size_t page = 4096;
constexpr int poison = 0xff;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

std::size_t capacity(int index) {
  const Gpu& gpu = *device(index).gpu;
  return static_cast<std::size_t>((gpu.memory_mib - gpu.memory_used_mib) * 1048576);
}

// Free pieces of one device's part, in granules. Addresses are used again as late as possible, so that a pointer kept
// too long is found out.
class Pieces {
 public:
  explicit Pieces(std::size_t first, std::size_t count) : next_(first) { free_[first] = count; }

  std::optional<std::size_t> take(std::size_t count) {
    const auto start = free_.lower_bound(next_);
    auto piece = std::find_if(start, free_.end(), [&](const auto& one) { return one.second >= count; });
    if (piece == free_.end())
      piece = std::find_if(free_.begin(), start, [&](const auto& one) { return one.second >= count; });
    if (piece == free_.end() || piece->second < count) return std::nullopt;
    const auto [first, size] = *piece;
    free_.erase(piece);
    if (size > count) free_[first + count] = size - count;
    next_ = first + count;
    return first;
  }

  void give(std::size_t first, std::size_t count) {
    auto after = free_.lower_bound(first);
    if (after != free_.end() && first + count == after->first) {
      count += after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == first) {
        before->second += count;
        return;
      }
    }
    free_[first] = count;
  }

 private:
  std::map<std::size_t, std::size_t> free_;  // first granule, how many
  std::size_t next_;
};

class Memory {
 public:
  Memory() {
    const int devices = device_count();
    std::size_t largest = std::size_t{8} << 30;
    for (int i = 0; i < devices; ++i) largest = std::max(largest, capacity(i));
    part_ = round_up(4 * largest, granule);
    space_.bytes = part_ * (static_cast<std::size_t>(devices) + 1);
    space_.device_bytes = part_ * static_cast<std::size_t>(devices);
    space_.visible_begin = reserve();
    space_.private_begin = reserve();
    space_.owners.assign(space_.bytes >> granule_bits, 0);
    space_.allocations.resize(most_allocations);
    const std::size_t granules = part_ >> granule_bits;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(devices); ++i) pieces_.emplace_back(i * granules, granules);
    allocated_.assign(static_cast<std::size_t>(devices) + 1, 0);
    pinned_file_ = memfd_create("virtual-platform-pinned", MFD_CLOEXEC);
    if (pinned_file_ < 0 || ftruncate(pinned_file_, static_cast<off_t>(part_)) != 0) give_up("virtual platform: memfd");
  }

  const AddressSpace& space() const { return space_; }
  std::size_t allocated(int index) const { return allocated_[part(index)]; }

  void* allocate(int index, std::size_t bytes) {
    if (bytes == 0 || bytes > part_) return nullptr;
    if (index != host && allocated_[part(index)] + bytes > capacity(index)) return nullptr;
    const std::size_t slot = free_slot();
    if (slot == 0) return nullptr;
    // One granule behind it stays nobody's.
    const std::optional<std::size_t> first = pieces_[part(index)].take(granules_of(bytes) + 1);
    if (!first) return nullptr;
    const std::size_t offset = *first << granule_bits;
    open(index, offset, bytes);
    space_.allocations[slot] = {space_.visible_begin + offset, bytes, index, ++number_};
    std::fill_n(space_.owners.begin() + static_cast<std::ptrdiff_t>(*first), granules_of(bytes),
                static_cast<std::uint16_t>(slot));
    space_.slots_used = std::max(space_.slots_used, slot + 1);
    allocated_[part(index)] += bytes;
    return reinterpret_cast<void*>(space_.visible_begin + offset);
  }

  bool release(Address begin) {
    const Allocation* found = find(begin);
    if (found == nullptr || found->begin != begin) return false;
    const Allocation old = *found;
    const std::size_t offset = begin - space_.visible_begin;
    const std::size_t first = offset >> granule_bits;
    close(old.device, offset, old.bytes);
    space_.allocations[space_.owners[first]] = {};
    std::fill_n(space_.owners.begin() + static_cast<std::ptrdiff_t>(first), granules_of(old.bytes), std::uint16_t{0});
    pieces_[part(old.device)].give(first, granules_of(old.bytes) + 1);
    allocated_[part(old.device)] -= old.bytes;
    return true;
  }

  const Allocation* find(Address address) const {
    const std::size_t offset = address - space_.visible_begin;
    if (offset >= space_.bytes) return nullptr;
    const std::uint16_t slot = space_.owners[offset >> granule_bits];
    if (slot == 0) return nullptr;
    const Allocation& allocation = space_.allocations[slot];
    return address < allocation.begin + allocation.bytes ? &allocation : nullptr;
  }

 private:
  static std::size_t granules_of(std::size_t bytes) { return round_up(bytes, granule) >> granule_bits; }
  std::size_t part(int index) const { return index == host ? pieces_.size() - 1 : static_cast<std::size_t>(index); }

  Address reserve() const {
    void* start = mmap(nullptr, space_.bytes + granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) give_up("virtual platform: address space");
    return round_up(reinterpret_cast<Address>(start), granule);
  }

  std::size_t free_slot() const {
    for (std::size_t slot = 1; slot < most_allocations; ++slot)
      if (space_.allocations[slot].bytes == 0) return slot;
    return 0;
  }

  static void map(Address at, std::size_t bytes, int rights, int flags, int file, std::size_t file_offset) {
    if (mmap(reinterpret_cast<void*>(at), round_up(bytes, page), rights, MAP_FIXED | flags, file,
             static_cast<off_t>(file_offset)) == MAP_FAILED)
      give_up("virtual platform: mmap");
  }

  void open(int index, std::size_t offset, std::size_t bytes) const {
    const int rights = PROT_READ | PROT_WRITE;
    if (index == host) {
      const std::size_t at = offset - space_.device_bytes;
      map(space_.visible_begin + offset, bytes, rights, MAP_SHARED, pinned_file_, at);
      map(space_.private_begin + offset, bytes, rights, MAP_SHARED, pinned_file_, at);
      return;
    }
    auto* start = reinterpret_cast<char*>(space_.private_begin + offset);
    if (mprotect(start, round_up(bytes, page), rights) != 0) give_up("virtual platform: mprotect");
    parallel_pieces(bytes, std::size_t{1} << 20,
                    [start](std::size_t from, std::size_t count) { std::memset(start + from, poison, count); });
  }

  void close(int index, std::size_t offset, std::size_t bytes) const {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    map(space_.private_begin + offset, bytes, PROT_NONE, flags, -1, 0);
    if (index != host) return;
    map(space_.visible_begin + offset, bytes, PROT_NONE, flags, -1, 0);
    fallocate(pinned_file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(offset - space_.device_bytes), static_cast<off_t>(round_up(bytes, page)));
  }

  AddressSpace space_;
  std::size_t part_ = 0;  // bytes of each device, and of pinned memory
  std::vector<Pieces> pieces_;
  std::vector<std::size_t> allocated_;
  int pinned_file_ = -1;
  std::uint32_t number_ = 0;
};

// Never destroyed: destructors of the program may still free memory.
Memory& memory() {
  static Memory& one = *new Memory;
  return one;
}

}  // namespace

const AddressSpace& address_space() { return memory().space(); }
void* allocate(int index, std::size_t bytes) { return memory().allocate(index, bytes); }
bool release(void* start) { return memory().release(reinterpret_cast<Address>(start)); }
const Allocation* find_allocation(Address address) { return memory().find(address); }
std::size_t allocated_bytes(int index) { return memory().allocated(index); }

Address accessible(Address address) {
  const AddressSpace& space = memory().space();
  const std::size_t offset = address - space.visible_begin;
  return offset < space.bytes ? space.private_begin + offset : address;
}

Address visible(Address private_address) {
  const AddressSpace& space = memory().space();
  const std::size_t offset = private_address - space.private_begin;
  return offset < space.bytes ? space.visible_begin + offset : 0;
}

}  // namespace virtual_platform
