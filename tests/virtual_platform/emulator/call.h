// Part of every companion: calls a kernel with arguments as a launch hands them over, addresses of values.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "tests/virtual_platform/emulator/kernel.h"

namespace virtual_platform {

template <class T>
constexpr ParameterKind kind_of() {
  if constexpr (std::is_pointer_v<T>) return ParameterKind::pointer;
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return ParameterKind::integer;
  if constexpr (std::is_floating_point_v<T>) return ParameterKind::floating;
  return ParameterKind::other;
}

template <auto kernel>
struct Call;

template <class... Parameters, void (*kernel)(Parameters...)>
struct Call<kernel> {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "a launch copies arguments byte by byte");
  // One more than there are, since an array cannot be empty.
  static constexpr Parameter parameters[] = {{sizeof(Parameters), kind_of<Parameters>()}..., {0, ParameterKind::other}};

  template <std::size_t... index>
  static void call(void* const* arguments, std::index_sequence<index...>) {
    kernel(*static_cast<const Parameters*>(arguments[index])...);
  }
  static void call(void* const* arguments) { call(arguments, std::index_sequence_for<Parameters...>{}); }

  static constexpr CompiledKernel named(const char* name) { return {name, &call, parameters, sizeof...(Parameters)}; }
};

}  // namespace virtual_platform
