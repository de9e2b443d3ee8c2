// What the tests of the host device share: moving values in and out of its buffers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::kernels::test {

inline constexpr Duration patience{60.0};

// A platform with so many of the usable cores, never more than there are.
inline std::unique_ptr<Platform> open_with(int threads) {
  const auto usable = static_cast<int>(open_platform({})->ranks().size());
  return open_platform({.threads = std::min(threads, usable)});
}

// The error that `call` ends with; a failure of the test when it ends well.
template <class Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error({.outcome = Outcome::ok, .library = {}, .code = {}, .text = "no error", .remedy = {}});
}

template <class Value>
std::vector<Value> downloaded(Device& device, Slice source) {
  const auto stream = device.make_stream();
  std::vector<Value> values(source.size_bytes / sizeof(Value));
  device.download(*stream, std::as_writable_bytes(std::span(values)), source);
  return values;
}

template <class Value>
std::unique_ptr<Buffer> uploaded(Device& device, const std::vector<Value>& values) {
  auto buffer = device.allocate(values.size() * sizeof(Value));
  const auto stream = device.make_stream();
  device.upload(*stream, *buffer, std::as_bytes(std::span(values)));
  return buffer;
}

// `count` values of the type as doubles.
inline std::vector<double> filled(Device& device, DataType type, std::size_t count, std::uint64_t seed) {
  const auto buffer = device.allocate(storage_bytes(type, count));
  const auto stream = device.make_stream();
  device.fill(*stream, *buffer, type, Pattern::normal, seed);
  stream->wait(patience);
  return decode(type, downloaded<std::byte>(device, *buffer), count);
}

}  // namespace claimcheck::kernels::test
