#include "tests/virtual_platform/cublaslt/product.h"

#include <cblas.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/float_format.h"

namespace virtual_platform::cublaslt {
namespace {

using claimcheck::kernels::decode;
using claimcheck::kernels::encode;
using claimcheck::kernels::storage_bytes;

std::vector<double> load(const Layout& layout, const void* data) {
  const DataType type = *data_type(layout.type);
  const std::size_t count = layout.matrix_elements();
  return decode(type, {static_cast<const std::byte*>(data), storage_bytes(type, count)}, count);
}

void round_to_tf32(std::vector<double>& values) {
  std::vector<std::byte> stored(values.size() * sizeof(float));
  encode(DataType::tf32, values, stored);
  values = decode(DataType::tf32, stored, values.size());
}

// Where the scale of block `block` of row `row` lies: tiles of 128 rows x 4 blocks, 512 bytes each; in a tile, row r of
// the four groups of 32 is interleaved ("1D block scaling factors layout" of cuBLAS's documentation).
std::size_t block_scale_at(std::uint64_t row, std::uint64_t block, std::uint64_t blocks) {
  const std::uint64_t tiles_wide = (blocks + 3) / 4;
  const std::uint64_t tile = row / 128 * tiles_wide + block / 4;
  return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}

// The matrix is stored k x rows (transposed A, plain B): contiguous along k.
void apply_block_scales(std::vector<double>& values, const Layout& layout, const void* scales) {
  const auto* bytes = static_cast<const std::uint8_t*>(scales);
  const std::uint64_t blocks = (layout.rows + 15) / 16;
  for (std::uint64_t row = 0; row < layout.columns; row++)
    for (std::uint64_t i = 0; i < layout.rows; i++) {
      using claimcheck::kernels::decode_bits;
      const std::uint8_t bits = bytes[block_scale_at(row, i / 16, blocks)];
      values[row * static_cast<std::uint64_t>(layout.leading) + i] *=
          decode_bits<claimcheck::kernels::format_fp8_e4m3>(bits);
    }
}

double scalar_scale(const void* scale) {
  if (scale == nullptr) return 1;
  float value = 0;
  std::memcpy(&value, scale, sizeof value);
  return value;
}

std::vector<double> operand(const Layout& layout, const void* data, bool tf32, std::int32_t mode, const void* scale) {
  std::vector<double> values = load(layout, data);
  if (tf32) round_to_tf32(values);
  if (mode == scale_of_16 && scale != nullptr) apply_block_scales(values, layout, scale);
  return values;
}

CBLAS_TRANSPOSE transpose(cublasOperation_t operation) { return operation == CUBLAS_OP_N ? CblasNoTrans : CblasTrans; }

// op(A) op(B), m x n, columns next to each other.
std::vector<double> accumulate(const Problem& problem, const std::vector<double>& a, const std::vector<double>& b) {
  const auto [m, n, k] =
      std::tuple(static_cast<int>(problem.m()), static_cast<int>(problem.n()), static_cast<int>(problem.k()));
  const auto transpose_a = transpose(problem.description.transpose_a);
  const auto transpose_b = transpose(problem.description.transpose_b);
  const int leading_a = static_cast<int>(problem.a.leading);
  const int leading_b = static_cast<int>(problem.b.leading);
  const std::size_t count = problem.m() * problem.n();
  const cublasComputeType_t compute = problem.description.compute;
  if (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_32I) {
    std::vector<double> result(count);
    cblas_dgemm(CblasColMajor, transpose_a, transpose_b, m, n, k, 1.0, a.data(), leading_a, b.data(), leading_b, 0.0,
                result.data(), m);
    return result;
  }
  const std::vector<float> a32(a.begin(), a.end());
  const std::vector<float> b32(b.begin(), b.end());
  std::vector<float> result(count);
  cblas_sgemm(CblasColMajor, transpose_a, transpose_b, m, n, k, 1.0F, a32.data(), leading_a, b32.data(), leading_b,
              0.0F, result.data(), m);
  return {result.begin(), result.end()};
}

void add_scaled(const Problem& problem, const std::vector<double>& c, double beta, std::vector<double>& sums) {
  const auto leading = static_cast<std::uint64_t>(problem.c.leading);
  for (std::uint64_t column = 0; column < problem.n(); column++)
    for (std::uint64_t row = 0; row < problem.m(); row++)
      sums[column * problem.m() + row] += beta * c[column * leading + row];
}

// One matrix of the batch.
void multiply_one(const Problem& problem, const Operands& operands) {
  const Description& description = problem.description;
  const bool tf32 = description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const std::vector<double> a = operand(problem.a, operands.a, tf32, description.scale_mode_a, operands.scale_a);
  const std::vector<double> b = operand(problem.b, operands.b, tf32, description.scale_mode_b, operands.scale_b);
  double alpha = operands.alpha;
  if (description.scale_mode_a == one_scale) alpha *= scalar_scale(operands.scale_a);
  if (description.scale_mode_b == one_scale) alpha *= scalar_scale(operands.scale_b);
  std::vector<double> sums = accumulate(problem, a, b);
  if (alpha != 1)
    for (double& value : sums) value *= alpha;
  if (operands.beta != 0) add_scaled(problem, load(problem.c, operands.c), operands.beta, sums);
  const DataType type = *data_type(problem.d.type);
  const std::size_t column_bytes = storage_bytes(type, problem.m());
  const std::size_t stride = storage_bytes(type, static_cast<std::size_t>(problem.d.leading));
  for (std::uint64_t column = 0; column < problem.n(); column++)
    encode(type, std::span(sums).subspan(column * problem.m(), problem.m()),
           {static_cast<std::byte*>(operands.d) + column * stride, column_bytes});
}

const void* shifted(const void* data, const Layout& layout, std::int32_t index) {
  const std::size_t elements = static_cast<std::size_t>(index) * static_cast<std::size_t>(layout.stride);
  return data == nullptr ? nullptr
                         : static_cast<const std::byte*>(data) + storage_bytes(*data_type(layout.type), elements);
}

}  // namespace

void multiply(const Problem& problem, const Operands& operands) {
  for (std::int32_t i = 0; i < problem.d.batch; i++) {
    Operands one = operands;
    one.a = shifted(operands.a, problem.a, i);
    one.b = shifted(operands.b, problem.b, i);
    one.c = shifted(operands.c, problem.c, i);
    one.d = const_cast<void*>(shifted(operands.d, problem.d, i));
    multiply_one(problem, one);
  }
}

std::size_t block_scale_bytes(std::uint64_t rows, std::uint64_t k) {
  return (rows + 127) / 128 * ((k + 63) / 64) * 512;
}

double flop_limit() {
  static const double limit = [] {
    const char* text = std::getenv("CLAIMCHECK_VIRTUAL_GEMM_FLOP");
    return text == nullptr ? 2e10 : std::strtod(text, nullptr);
  }();
  return limit;
}

}  // namespace virtual_platform::cublaslt
