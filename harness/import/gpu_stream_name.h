// What a name like "STREAM_TRIAD_double_gpu_0_buffer_4294967296_block_256" of SuperBench says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace claimcheck::importing {

struct GpuStreamName {
  std::string kernel;  // "memory.triad"
  std::string type;    // "fp64"
  int gpu = 0;
  double bytes = 0;
  double block = 0;  // threads
};

// Unset when the word is none.
std::optional<GpuStreamName> gpu_stream_name(std::string_view word);

}  // namespace claimcheck::importing
