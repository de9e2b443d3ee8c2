#include "kernels/host/group_reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "kernels/float_format.h"
#include "kernels/host/memory_loops.h"

namespace claimcheck::kernels::host {

namespace {

constexpr std::size_t block = 1024;  // values; sums stay in the first-level cache

struct Fp64 {
  using Stored = double;
  using Sum = double;
  static Sum load(Stored x) { return x; }
  static Stored store(Sum x) { return x; }
};

struct Fp32 {
  using Stored = float;
  using Sum = float;
  static Sum load(Stored x) { return x; }
  static Stored store(Sum x) { return x; }
};

struct Fp16 {
  using Stored = std::uint16_t;
  using Sum = float;
  static Sum load(Stored x) { return static_cast<Sum>(decode_bits<format_fp16>(x)); }
  static Stored store(Sum x) { return static_cast<Stored>(encode_bits<format_fp16>(x)); }
};

struct Bf16 {
  using Stored = std::uint16_t;
  using Sum = float;
  static Sum load(Stored x) { return std::bit_cast<float>(std::uint32_t{x} << 16); }
  static Stored store(Sum x) { return static_cast<Stored>(encode_bits<format_bf16>(x)); }
};

// Unsigned, because signed overflow is undefined; the bits are the same.
struct Int8 {
  using Stored = std::uint8_t;
  using Sum = std::uint8_t;
  static Sum load(Stored x) { return x; }
  static Stored store(Sum x) { return x; }
};

struct Int32 {
  using Stored = std::uint32_t;
  using Sum = std::uint32_t;
  static Sum load(Stored x) { return x; }
  static Stored store(Sum x) { return x; }
};

// Sums of one block, written to `sums`, which is none of the sources.
template <class Type>
void sum_block(std::span<const std::byte* const> sources, std::size_t first, std::size_t count,
               typename Type::Stored* __restrict sums) {
  using Stored = typename Type::Stored;
  using Sum = typename Type::Sum;
  const auto values_of = [&](std::size_t s) { return reinterpret_cast<const Stored*>(sources[s]) + first; };
  const Stored* const a = values_of(0);
  if (sources.size() == 1) {
    std::memcpy(sums, a, count * sizeof(Stored));
  } else if (sources.size() == 2) {
    const Stored* const b = values_of(1);
    for (std::size_t i = 0; i < count; ++i)
      sums[i] = Type::store(static_cast<Sum>(Type::load(a[i]) + Type::load(b[i])));
  } else {
    Sum wide[block];
    for (std::size_t i = 0; i < count; ++i) wide[i] = Type::load(a[i]);
    for (std::size_t s = 1; s < sources.size(); ++s) {
      const Stored* const more = values_of(s);
      for (std::size_t i = 0; i < count; ++i) wide[i] = static_cast<Sum>(wide[i] + Type::load(more[i]));
    }
    for (std::size_t i = 0; i < count; ++i) sums[i] = Type::store(wide[i]);
  }
}

// Whether writing so many bytes to the target leaves all sources as they are.
bool apart(std::span<const std::byte* const> sources, const std::byte* target, std::size_t bytes) {
  return std::all_of(sources.begin(), sources.end(), [&](const std::byte* source) {
    return std::less_equal<>()(source + bytes, target) || std::less_equal<>()(target + bytes, source);
  });
}

template <class Type>
void sum_as(std::span<const std::byte* const> sources, std::span<std::byte* const> targets, std::size_t count,
            bool bypass) {
  using Stored = typename Type::Stored;
  const bool straight = targets.size() == 1 && !bypass && apart(sources, targets[0], count * sizeof(Stored));
  alignas(64) Stored stored[block];
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t some = std::min(block, count - first);
    if (straight) {
      sum_block<Type>(sources, first, some, reinterpret_cast<Stored*>(targets[0]) + first);
      continue;
    }
    sum_block<Type>(sources, first, some, stored);
    const auto* const sum_bytes = reinterpret_cast<const std::byte*>(stored);
    for (std::byte* const target : targets)
      copy_bytes(target + first * sizeof(Stored), sum_bytes, some * sizeof(Stored), bypass);
  }
}

}  // namespace

bool can_sum(DataType type) {
  switch (type) {
    case DataType::fp64:
    case DataType::fp32:
    case DataType::fp16:
    case DataType::bf16:
    case DataType::int8:
    case DataType::int32:
      return true;
    case DataType::tf32:
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
    case DataType::fp4:
      return false;
  }
  return false;
}

void sum_slices(DataType type, std::span<const std::byte* const> sources, std::span<std::byte* const> targets,
                std::size_t count, bool bypass) {
  switch (type) {
    case DataType::fp64:
      return sum_as<Fp64>(sources, targets, count, bypass);
    case DataType::fp32:
      return sum_as<Fp32>(sources, targets, count, bypass);
    case DataType::fp16:
      return sum_as<Fp16>(sources, targets, count, bypass);
    case DataType::bf16:
      return sum_as<Bf16>(sources, targets, count, bypass);
    case DataType::int8:
      return sum_as<Int8>(sources, targets, count, bypass);
    case DataType::int32:
      return sum_as<Int32>(sources, targets, count, bypass);
    case DataType::tf32:
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
    case DataType::fp4:
      return;  // refused by can_sum()
  }
}

}  // namespace claimcheck::kernels::host
