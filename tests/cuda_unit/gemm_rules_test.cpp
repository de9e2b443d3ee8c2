// Why a product cannot be had is told apart: architecture, library, layout.
#include "kernels/cuda/gemm_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace claimcheck::kernels::cuda {
namespace {

constexpr GemmShape square{4096, 4096, 4096};
constexpr std::size_t recent = 130100;

std::string refusal(DataType type, const GemmShape& shape, int capability, std::size_t library) {
  try {
    gemm_types(type, shape, capability, library);
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().outcome, Outcome::unsupported);
    return error.detail().text;
  }
  return "";
}

TEST(GemmRules, Architecture) {
  EXPECT_EQ(refusal(DataType::fp8_e4m3, square, 80, recent), "fp8_e4m3 needs compute capability 8.9; this GPU has 8.0");
  EXPECT_EQ(refusal(DataType::bf16, square, 75, recent), "bf16 needs compute capability 8.0; this GPU has 7.5");
  EXPECT_EQ(refusal(DataType::fp4, square, 90, recent), "fp4 needs compute capability 10.0; this GPU has 9.0");
  EXPECT_EQ(refusal(DataType::int8, square, 70, recent), "int8 needs compute capability 7.2; this GPU has 7.0");
  EXPECT_EQ(refusal(DataType::fp8_e4m3, square, 89, recent), "");
  EXPECT_EQ(refusal(DataType::fp16, square, 70, recent), "");
}

TEST(GemmRules, Library) {
  EXPECT_EQ(refusal(DataType::fp4, square, 100, 120600), "fp4 needs cuBLASLt 12.8.0; this is 12.6.0");
  EXPECT_EQ(refusal(DataType::fp8_e5m2, square, 89, 120003), "fp8_e5m2 needs cuBLASLt 12.1.0; this is 12.0.3");
}

TEST(GemmRules, Layout) {
  EXPECT_THAT(refusal(DataType::fp8_e4m3, {4096, 100, 4096}, 90, recent), testing::HasSubstr("multiples of 16"));
  EXPECT_THAT(refusal(DataType::int8, {4096, 4096, 130}, 80, recent), testing::HasSubstr("multiples of 4"));
  EXPECT_EQ(refusal(DataType::fp16, {100, 3, 7}, 80, recent), "");
}

TEST(GemmRules, Types) {
  const GemmTypes e5m2 = gemm_types(DataType::fp8_e5m2, square, 90, recent);
  EXPECT_EQ(e5m2.a, CUDA_R_8F_E5M2);
  EXPECT_EQ(e5m2.b, CUDA_R_8F_E4M3);
  EXPECT_EQ(e5m2.output, DataType::bf16);
  EXPECT_TRUE(e5m2.scaled_tensors);
  const GemmTypes fp32 = gemm_types(DataType::fp32, square, 90, recent);
  EXPECT_EQ(fp32.compute, CUBLAS_COMPUTE_32F);  // never a faster, coarser mode
  const GemmTypes int8 = gemm_types(DataType::int8, square, 90, recent);
  EXPECT_EQ(int8.scale, CUDA_R_32I);
  EXPECT_EQ(int8.output, DataType::int32);
  EXPECT_EQ(gemm_types(DataType::fp16, square, 90, recent).compute, CUBLAS_COMPUTE_32F);
}

TEST(GemmRules, BlockScalesArePaddedToTiles) {
  EXPECT_EQ(block_scales(128, 64), 128U * 4U);
  EXPECT_EQ(block_scales(129, 64), 256U * 4U);
  EXPECT_EQ(block_scales(128, 80), 128U * 8U);
}

TEST(GemmRules, Versions) {
  EXPECT_EQ(cublas_version(130100), "13.1.0");
  EXPECT_EQ(cublas_version(120405), "12.4.5");
}

}  // namespace
}  // namespace claimcheck::kernels::cuda
