#include "bench/chain_reference.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace claimcheck::bench {

using kernels::DataType;
using kernels::VectorOp;

namespace {

template <class Value>
std::vector<Value> values_of(std::span<const std::byte> stored) {
  std::vector<Value> values(stored.size() / sizeof(Value));
  std::memcpy(values.data(), stored.data(), values.size() * sizeof(Value));
  return values;
}

template <class Value>
std::vector<std::byte> bytes_of(const std::vector<Value>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Chain j of every lane lies at [lane * chains + j]: all go on together, so that the host's units are kept busy.
template <class Value, class Start, class Step>
std::vector<std::byte> run_chains(std::span<const std::byte> inputs, int chains, std::int64_t steps, Start start,
                                  Step step) {
  const std::vector<Value> input = values_of<Value>(inputs);
  std::vector<Value> x;
  std::vector<Value> v_of;
  for (const Value v : input)
    for (int j = 0; j < chains; ++j) {
      x.push_back(start(v, j));
      v_of.push_back(v);
    }
  for (std::int64_t i = 0; i < steps; ++i)
    for (std::size_t c = 0; c < x.size(); ++c) x[c] = step(x[c], v_of[c]);
  std::vector<Value> output;
  for (std::size_t lane = 0; lane < input.size(); ++lane) {
    Value sum = x[lane * static_cast<std::size_t>(chains)];
    for (int j = 1; j < chains; ++j) sum += x[lane * static_cast<std::size_t>(chains) + static_cast<std::size_t>(j)];
    output.push_back(sum);
  }
  return bytes_of(output);
}

template <class Real>
std::vector<std::byte> fused(std::span<const std::byte> inputs, int chains, std::int64_t steps) {
  return run_chains<Real>(
      inputs, chains, steps, [](Real v, int j) { return v / Real(8) + Real(j) / Real(16); },
      [](Real x, Real) { return std::fma(x, x, Real(-1.8125)); });
}

void round_to(DataType type, std::vector<double>& values) {
  std::vector<std::byte> stored(kernels::storage_bytes(type, values.size()));
  kernels::encode(type, values, stored);
  values = kernels::decode(type, stored, values.size());
}

std::vector<std::byte> rounded(DataType type, std::span<const std::byte> inputs, int chains, std::int64_t steps) {
  const std::size_t lanes = inputs.size() / kernels::storage_bytes(type, 1);
  const auto width = static_cast<std::size_t>(chains);
  const std::vector<double> input = kernels::decode(type, inputs, lanes);
  std::vector<double> x(lanes * width);
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = input[c / width] / 8 + static_cast<double>(c % width) / 16;
  round_to(type, x);
  for (std::int64_t i = 0; i < steps; ++i) {
    for (double& value : x) value = value * value - 1.8125;
    round_to(type, x);
  }
  std::vector<double> sums(lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] = x[lane * width];
  for (std::size_t j = 1; j < width; ++j) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[lane * width + j];
    round_to(type, sums);
  }
  std::vector<std::byte> output(inputs.size());
  kernels::encode(type, sums, output);
  return output;
}

std::uint32_t dot(std::uint32_t x) {
  constexpr std::uint32_t factors = 0xff02fd04U;
  std::int32_t sum = 0;
  for (int byte = 0; byte < 4; ++byte)
    sum += static_cast<std::int8_t>(x >> (8 * byte)) * static_cast<std::int8_t>(factors >> (8 * byte));
  return static_cast<std::uint32_t>(sum);
}

}  // namespace

DataType value_type(VectorOp op) {
  switch (op) {
    case VectorOp::fp64:
      return DataType::fp64;
    case VectorOp::fp32:
      return DataType::fp32;
    case VectorOp::fp16:
      return DataType::fp16;
    case VectorOp::bf16:
      return DataType::bf16;
    case VectorOp::int32:
    case VectorOp::dp4a:
      return DataType::int32;
  }
  throw std::logic_error("no such vector operation");
}

std::vector<std::byte> chains_reference(VectorOp op, std::span<const std::byte> inputs, int chains,
                                        std::int64_t steps) {
  const auto plus = [](std::uint32_t v, int j) { return v + static_cast<std::uint32_t>(j); };
  switch (op) {
    case VectorOp::fp64:
      return fused<double>(inputs, chains, steps);
    case VectorOp::fp32:
      return fused<float>(inputs, chains, steps);
    case VectorOp::fp16:
      return rounded(DataType::fp16, inputs, chains, steps);
    case VectorOp::bf16:
      return rounded(DataType::bf16, inputs, chains, steps);
    case VectorOp::int32:
      return run_chains<std::uint32_t>(inputs, chains, steps, plus,
                                       [](std::uint32_t x, std::uint32_t) { return 1664525U * x + 1013904223U; });
    case VectorOp::dp4a:
      return run_chains<std::uint32_t>(inputs, chains, steps, plus,
                                       [](std::uint32_t x, std::uint32_t v) { return v + dot(x); });
  }
  throw std::logic_error("no such vector operation");
}

}  // namespace claimcheck::bench
