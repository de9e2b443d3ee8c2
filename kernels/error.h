// The one exception type of kernels/ and bench/, and the closed list of outcomes a benchmark can have.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace claimcheck::kernels {

enum class Outcome { ok, wrong_result, unstable, unsupported, timed_out, crashed, failed };

std::string_view to_string(Outcome outcome);

// What went wrong, in words a user understands, and what to do about it.
//   library  "CUDA", "cuBLASLt", "NCCL", "OpenBLAS", "Linux", or "claimcheck" for our own findings
//   code     the library's own name of the code (cudaErrorMemoryAllocation, ENOSPC), empty when there is none
//   remedy   what the user can do; may be empty
// context_dead: the device cannot be used again by this process (illegal address, lost GPU); the worker ends.
class Error : public std::runtime_error {
 public:
  struct Detail {
    Outcome outcome = Outcome::failed;
    std::string library;
    std::string code;
    std::string text;
    std::string remedy;
    bool context_dead = false;
  };

  explicit Error(Detail detail, std::source_location place = std::source_location::current());

  const Detail& detail() const noexcept { return detail_; }
  const std::source_location& place() const noexcept { return place_; }

 private:
  Detail detail_;
  std::source_location place_;
};

// "Cannot run here", with the reason; recorded as an outcome, never as a failure.
[[nodiscard]] Error unsupported(std::string reason, std::string remedy = {},
                                std::source_location place = std::source_location::current());

// The output differs from the reference; `text` says where and by how much.
[[nodiscard]] Error wrong_result(std::string text, std::source_location place = std::source_location::current());

}  // namespace claimcheck::kernels
