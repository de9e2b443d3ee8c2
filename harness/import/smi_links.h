// nvidia-smi -L and nvidia-smi nvlink (-s, -e, -c): a line for each GPU, and lines of its links or MIG instances.
#pragma once

#include <optional>
#include <string_view>

#include "harness/import/collected.h"
#include "harness/import/smi_gpus.h"

namespace claimcheck::importing {

inline constexpr int most_nvlinks = 18;  // of any GPU up to Blackwell

// What a product has: number of links, rate of one each way. Unset where links depend on bridges, or are unknown.
struct NvlinkProduct {
  int links = 0;
  double gbps = 0;
  std::string_view version;
};
std::optional<NvlinkProduct> nvlink_product(std::string_view name);

class SmiLinks {
 public:
  SmiLinks(Collected& collected, SmiGpus& gpus) : collected_(collected), gpus_(gpus) {}
  bool line(std::string_view text);
  void end() { finish(); }

 private:
  bool gpu(std::string_view text);
  bool link(std::string_view text);
  bool sentence(std::string_view text);
  void finish();

  Collected& collected_;
  SmiGpus& gpus_;
  SmiGpu* gpu_ = nullptr;
  int listed_ = 0;
  int active_ = 0;
  double rate_ = 0;  // of one link, by its own word
  bool all_inactive_ = false;
};

}  // namespace claimcheck::importing
