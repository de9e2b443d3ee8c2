// A tile of one warp on the matrix units: operands and sums in the registers of its 32 lanes, and C = C + A B by
// mma.sync. Layout of all instructions used here (PTX ISA, "matrix fragments"): lane = 4 x group + place. Rows are
// words of 32 bits (64 for fp64) along k; register (j, h) of A holds row group + 8 h, word place + 4 j; register j of B
// column group, word place + 4 j; register (h, i) of C row group + 8 h, column 2 place + i.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/matrix_instructions.h"
#include "kernels/float_format.h"

#ifdef CLAIMCHECK_VIRTUAL_CPU
namespace virtual_platform {
template <class T>
void warp_gather(const T& mine, T (&all)[32]);  // the values of all 32 lanes, on each of them
}
#endif

namespace claimcheck::kernels::cuda {

template <DataType type>
constexpr auto stored_as() {
  if constexpr (type == DataType::fp64) return double{};
  if constexpr (type == DataType::fp32) return float{};
  if constexpr (type == DataType::int32) return std::int32_t{};
}

template <MatrixInstruction instruction>
struct WarpTile {
  static constexpr MatrixInstructionFacts facts = facts_of(instruction);
  static constexpr int products = products_of(instruction);
  static constexpr bool is_fp64 = facts.input == DataType::fp64;
  static constexpr int values_per_word = facts.input == DataType::fp64 || facts.input == DataType::tf32   ? 1
                                         : facts.input == DataType::fp16 || facts.input == DataType::bf16 ? 2
                                                                                                          : 4;
  static constexpr int words = facts.k / values_per_word;  // of one row of A, of one column of B
  static constexpr int word_groups = words / 4;
  static constexpr int row_groups = facts.m / 8;
  static constexpr int m = facts.m;
  static constexpr int n = 8 * products;

  using Word = std::conditional_t<is_fp64, double, std::uint32_t>;
  using Sum = decltype(stored_as<facts.output>());

  Word a[word_groups * row_groups];
  Word b[products][word_groups];
  Sum c[products][row_groups * 2];
};

// Whether the code being compiled may use the instruction. A kernel without it does nothing; the host never launches
// it.
template <MatrixInstruction instruction>
constexpr bool has_instruction() {
#if defined(CLAIMCHECK_VIRTUAL_CPU)
  return true;
#elif defined(__CUDA_ARCH__)
  return __CUDA_ARCH__ >= 10 * facts_of(instruction).capability;
#else
  return false;
#endif
}

#ifdef CLAIMCHECK_VIRTUAL_CPU

template <DataType type>
double value_in_word(std::uint32_t word, int index) {
  if constexpr (type == DataType::tf32) return std::bit_cast<float>(word & 0xffffe000U);
  if constexpr (type == DataType::fp16) return decode_bits<format_fp16>((word >> (16 * index)) & 0xffffU);
  if constexpr (type == DataType::bf16) return decode_bits<format_bf16>((word >> (16 * index)) & 0xffffU);
  if constexpr (type == DataType::fp8_e4m3) return decode_bits<format_fp8_e4m3>((word >> (8 * index)) & 0xffU);
  if constexpr (type == DataType::fp8_e5m2) return decode_bits<format_fp8_e5m2>((word >> (8 * index)) & 0xffU);
  if constexpr (type == DataType::int8) return static_cast<std::int8_t>(word >> (8 * index));
}

template <DataType type>
double value_in_word(double word, int /*index*/) {
  return word;
}

// The operands of one lane as numbers; a float holds each of the small types exactly.
template <MatrixInstruction instruction>
struct LaneValues {
  using Tile = WarpTile<instruction>;
  using Value = std::conditional_t<Tile::is_fp64, double, float>;
  Value a[Tile::word_groups * Tile::row_groups][Tile::values_per_word];
  Value b[Tile::products][Tile::word_groups][Tile::values_per_word];

  explicit LaneValues(const Tile& tile) {
    constexpr DataType type = Tile::facts.input;
    for (int v = 0; v < Tile::values_per_word; ++v) {
      for (int i = 0; i < Tile::word_groups * Tile::row_groups; ++i)
        a[i][v] = static_cast<Value>(value_in_word<type>(tile.a[i], v));
      for (int p = 0; p < Tile::products; ++p)
        for (int j = 0; j < Tile::word_groups; ++j)
          b[p][j][v] = static_cast<Value>(value_in_word<type>(tile.b[p][j], v));
    }
  }
  LaneValues() = default;
};

template <MatrixInstruction instruction>
double product_on_cpu(const LaneValues<instruction> (&lanes)[32], int product, int row, int column) {
  using Tile = WarpTile<instruction>;
  double sum = 0;
  for (int word = 0; word < Tile::words; ++word) {
    const auto& a = lanes[row % 8 * 4 + word % 4].a[word / 4 * Tile::row_groups + row / 8];
    const auto& b = lanes[column * 4 + word % 4].b[product][word / 4];
    for (int v = 0; v < Tile::values_per_word; ++v) sum += static_cast<double>(a[v]) * static_cast<double>(b[v]);
  }
  return sum;
}

template <MatrixInstruction instruction>
void multiply_add_tile(WarpTile<instruction>& tile, int lane) {
  using Tile = WarpTile<instruction>;
  LaneValues<instruction> lanes[32];
  virtual_platform::warp_gather(LaneValues<instruction>(tile), lanes);
  for (int product = 0; product < Tile::products; ++product)
    for (int h = 0; h < Tile::row_groups; ++h)
      for (int i = 0; i < 2; ++i) {
        const double sum = product_on_cpu<instruction>(lanes, product, lane / 4 + 8 * h, lane % 4 * 2 + i);
        typename Tile::Sum& c = tile.c[product][2 * h + i];
        if constexpr (Tile::facts.output == DataType::int32) {  // wraps around, as the units do
          c = static_cast<std::int32_t>(static_cast<std::uint32_t>(c) +
                                        static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
        } else {
          c = static_cast<typename Tile::Sum>(c + sum);
        }
      }
}

#else

// The text of an asm statement must be a literal, so a macro puts it together.
#define CLAIMCHECK_MMA_M16N8(text, kind)                                                         \
  asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+" kind(c[0]), "+" kind(c[1]), "+" kind(c[2]), "+" kind(c[3])                  \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <MatrixInstruction instruction, class A, class B, class C>
__device__ inline void multiply_add_fragments(const A& a, const B& b, C& c) {
  using enum MatrixInstruction;
  if constexpr (instruction == fp16_m16n8k8) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  } else if constexpr (instruction == fp16_m16n8k16) {
    CLAIMCHECK_MMA_M16N8("m16n8k16.row.col.f32.f16.f16.f32", "f");
  } else if constexpr (instruction == bf16_m16n8k16) {
    CLAIMCHECK_MMA_M16N8("m16n8k16.row.col.f32.bf16.bf16.f32", "f");
  } else if constexpr (instruction == tf32_m16n8k8) {
    CLAIMCHECK_MMA_M16N8("m16n8k8.row.col.f32.tf32.tf32.f32", "f");
  } else if constexpr (instruction == int8_m8n8k16) {
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(c[0]), "+r"(c[1])
                 : "r"(a[0]), "r"(b[0]));
  } else if constexpr (instruction == int8_m16n8k32) {
    CLAIMCHECK_MMA_M16N8("m16n8k32.row.col.s32.s8.s8.s32", "r");
  } else if constexpr (instruction == e4m3_m16n8k32) {
    CLAIMCHECK_MMA_M16N8("m16n8k32.row.col.f32.e4m3.e4m3.f32", "f");
  } else if constexpr (instruction == e5m2_m16n8k32) {
    CLAIMCHECK_MMA_M16N8("m16n8k32.row.col.f32.e5m2.e5m2.f32", "f");
  } else if constexpr (instruction == fp64_m8n8k4) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a[0]), "d"(b[0]));
  } else {
    static_assert(instruction == fp64_m16n8k16);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
        "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
          "d"(b[2]), "d"(b[3]));
  }
}

#undef CLAIMCHECK_MMA_M16N8

// C = C + A B of the whole tile; called by all lanes of a warp.
template <MatrixInstruction instruction>
__device__ inline void multiply_add_tile(WarpTile<instruction>& tile, int /*lane*/) {
#pragma unroll
  for (int product = 0; product < WarpTile<instruction>::products; ++product)
    multiply_add_fragments<instruction>(tile.a, tile.b[product], tile.c[product]);
}

#endif

}  // namespace claimcheck::kernels::cuda
