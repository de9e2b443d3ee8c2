// Work::identity of calls: equal for calls of one function with equal arguments, never 0.
#pragma once

#include <cstdint>
#include <string_view>

namespace virtual_platform {

// FNV-1a, 64 bit.
class Identity {
 public:
  explicit Identity(std::string_view function) {
    for (const char c : function) add_byte(static_cast<unsigned char>(c));
  }
  Identity& add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(value >> shift & 0xffU);
    return *this;
  }
  Identity& add(const void* address) { return add(reinterpret_cast<std::uintptr_t>(address)); }
  std::uint64_t value() const { return hash_ == 0 ? 1 : hash_; }

 private:
  void add_byte(std::uint64_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3U; }

  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace virtual_platform
