// What the tests of engine and emulator share: memory, copies, launches, marks on a stream.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/virtual_platform/emulator/launch.h"
#include "tests/virtual_platform/engine/stream.h"
#include "tests/virtual_platform/engine_test_kernels.h"

namespace virtual_platform::test {

constexpr long count = 1 << 17;  // doubles: 1 MiB
constexpr std::size_t bytes = count * sizeof(double);

template <class T>
T* memory_on(int device_index, std::size_t size) {
  const std::lock_guard lock(engine_mutex());
  return static_cast<T*>(allocate(device_index, size));
}

inline void copy(Stream& stream, void* to, const void* from, std::size_t size) {
  Work work{.kind = "copy", .name = "test copy"};
  work.footprint = std::make_shared<Footprint>(Footprint{{range(from, size)}, {range(to, size)}});
  work.effect = [=] { std::memcpy(accessible(static_cast<std::byte*>(to)), accessible(from), size); };
  work.seconds = [](double) { return 1e-5; };
  enqueue(stream, std::move(work));
}

template <class... Values>
int launch(Stream& stream, const CompiledKernel& kernel, unsigned blocks, unsigned threads, Values... values) {
  void* arguments[] = {static_cast<void*>(&values)...};
  return enqueue(stream, launch_work(device_of(stream), kernel, {blocks, 1, 1}, {threads, 1, 1}, arguments));
}

inline void scale(Stream& stream, double* to, const double* from, double factor) {
  ASSERT_EQ(launch(stream, scale_kernel, 16, 256, to, from, factor, count), 0);
}

template <class T>
std::vector<T> contents(Stream& stream, const T* from, std::size_t elements) {
  std::vector<T> values(elements);
  copy(stream, values.data(), from, elements * sizeof(T));
  EXPECT_EQ(synchronise(stream), 0);
  return values;
}

inline void fill(Stream& stream, double* to, double value) {
  const std::vector<double> values(count, value);
  copy(stream, to, values.data(), bytes);
  ASSERT_EQ(synchronise(stream), 0);
}

inline OperationPointer mark(Stream& stream) {
  OperationPointer operation;
  enqueue(stream, Work{.kind = {}, .name = "mark"}, &operation);
  return operation;
}

}  // namespace virtual_platform::test
