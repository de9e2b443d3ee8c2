// Which matrix instructions (mma.sync) exist for a data type, from which compute capability on, and their shapes.
// Source: NVIDIA's PTX ISA, "Matrix multiply-accumulate operation using mma instruction".
#pragma once

#include <optional>

#include "kernels/data_type.h"

namespace claimcheck::kernels::cuda {

enum class MatrixInstruction {
  fp16_m16n8k8,
  fp16_m16n8k16,
  bf16_m16n8k16,
  tf32_m16n8k8,
  int8_m8n8k16,
  int8_m16n8k32,
  e4m3_m16n8k32,
  e5m2_m16n8k32,
  fp64_m8n8k4,
  fp64_m16n8k16
};

// One instruction is C (m x 8) += A (m x k) B (k x 8), by the 32 lanes of a warp.
struct MatrixInstructionFacts {
  const char* name;
  DataType input;
  DataType output;
  int m;
  int k;
  int capability;  // the first that has it
};

constexpr MatrixInstructionFacts facts_of(MatrixInstruction instruction) {
  using enum DataType;
  switch (instruction) {
    case MatrixInstruction::fp16_m16n8k8:
      return {"mma.sync.m16n8k8.f32.f16.f16.f32", fp16, fp32, 16, 8, 75};
    case MatrixInstruction::fp16_m16n8k16:
      return {"mma.sync.m16n8k16.f32.f16.f16.f32", fp16, fp32, 16, 16, 80};
    case MatrixInstruction::bf16_m16n8k16:
      return {"mma.sync.m16n8k16.f32.bf16.bf16.f32", bf16, fp32, 16, 16, 80};
    case MatrixInstruction::tf32_m16n8k8:
      return {"mma.sync.m16n8k8.f32.tf32.tf32.f32", tf32, fp32, 16, 8, 80};
    case MatrixInstruction::int8_m8n8k16:
      return {"mma.sync.m8n8k16.s32.s8.s8.s32", int8, int32, 8, 16, 75};
    case MatrixInstruction::int8_m16n8k32:
      return {"mma.sync.m16n8k32.s32.s8.s8.s32", int8, int32, 16, 32, 80};
    case MatrixInstruction::e4m3_m16n8k32:
      return {"mma.sync.m16n8k32.f32.e4m3.e4m3.f32", fp8_e4m3, fp32, 16, 32, 89};
    case MatrixInstruction::e5m2_m16n8k32:
      return {"mma.sync.m16n8k32.f32.e5m2.e5m2.f32", fp8_e5m2, fp32, 16, 32, 89};
    case MatrixInstruction::fp64_m8n8k4:
      return {"mma.sync.m8n8k4.f64.f64.f64.f64", fp64, fp64, 8, 4, 80};
    case MatrixInstruction::fp64_m16n8k16:
      return {"mma.sync.m16n8k16.f64.f64.f64.f64", fp64, fp64, 16, 16, 90};
  }
  return {};
}

// Independent products of one warp, so that the pipes stay full: a tile is n = 8 x this. The large fp64 instruction
// takes four times the registers.
constexpr int products_of(MatrixInstruction instruction) {
  return instruction == MatrixInstruction::fp64_m16n8k16 ? 4 : 8;
}

// On data-centre parts from Hopper on, mma.sync is a second way beside wgmma and tcgen05, which only whole groups of
// warps can use: fp8 there is unpacked to fp16 (F2FP, HMMA in the machine code), and no type reaches the full rate.
constexpr bool has_full_rate(int capability) { return capability < 90 || capability >= 120; }
constexpr bool has_fp8_units(int capability) { return capability >= 89 && has_full_rate(capability); }

// The one to use for a type on this compute capability; none where it has none.
constexpr std::optional<MatrixInstruction> matrix_instruction(DataType type, int capability) {
  using enum MatrixInstruction;
  const auto from = [capability](MatrixInstruction instruction) -> std::optional<MatrixInstruction> {
    if (capability < facts_of(instruction).capability) return std::nullopt;
    return instruction;
  };
  switch (type) {
    case DataType::fp16:
      return from(capability < 80 ? fp16_m16n8k8 : fp16_m16n8k16);
    case DataType::bf16:
      return from(bf16_m16n8k16);
    case DataType::tf32:
      return from(tf32_m16n8k8);
    case DataType::int8:
      return from(capability < 80 ? int8_m8n8k16 : int8_m16n8k32);
    case DataType::fp8_e4m3:
      if (!has_fp8_units(capability)) return std::nullopt;
      return from(e4m3_m16n8k32);
    case DataType::fp8_e5m2:
      if (!has_fp8_units(capability)) return std::nullopt;
      return from(e5m2_m16n8k32);
    case DataType::fp64:  // only Hopper's units are built for the large one
      return from(capability == 90 ? fp64_m16n8k16 : fp64_m8n8k4);
    default:
      return std::nullopt;
  }
}

// The first compute capability with an instruction for the type, 0 when there is none at all.
constexpr int matrix_capability(DataType type) {
  for (const int capability : {75, 80, 89})
    if (matrix_instruction(type, capability)) return capability;
  return 0;
}

}  // namespace claimcheck::kernels::cuda
