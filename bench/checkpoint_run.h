// A model's states on the devices, saved to files and restored from them: by all devices at once, each its share, or by
// each device alone in turn, the whole.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/checkpoint_carrier.h"
#include "bench/checkpoint_place.h"
#include "bench/published_file.h"

namespace claimcheck::bench {

struct CheckpointPlan {
  CheckpointPlace place;
  Way way = Way::pinned_host;
  bool at_once = true;             // all devices; else one after the other
  std::size_t preset_bytes = 0;    // of the model's states
  std::size_t bytes_a_device = 0;  // that are really moved; a multiple of Blocks::granule
  std::string limited_by = {};     // why that is less than the preset asks for; empty: it is not
};

class CheckpointRun {
 public:
  CheckpointRun(Setting& setting, CheckpointPlan plan);

  // Both leave what verify_*() looks at. A restore needs a save before it.
  Iteration save();
  Iteration restore();

  // Against the seed, bit by bit: what is in the files; what is in the devices' memory.
  void verify_files();
  void verify_memory();
  void spoil_files() const;
  void spoil_memory();

  // Of one checkpoint: all devices at once and all processes, or one device.
  std::size_t checkpoint_bytes() const;
  nlohmann::json conditions() const;
  nlohmann::json evidence() const;
  std::vector<kernels::Device*> devices() const;

 private:
  struct Part {
    kernels::Device* device = nullptr;
    std::uint64_t seed = 0;
    std::unique_ptr<kernels::Stream> stream;
    std::unique_ptr<kernels::Buffer> states;
    std::unique_ptr<Carrier> carrier;
    std::unique_ptr<PublishedFile> file;
    double seconds = 0;  // of the last save or restore
  };

  void fill(Part& part) const;
  void forget(Part& part) const;
  void check_cache(const Part& part, const char* when) const;
  void check_device_reads() const;
  Iteration timed(const std::function<void(Part&)>& work);
  void on_all_parts(const std::function<void(Part&)>& work);

  kernels::World& world_;
  CheckpointPlan plan_;
  kernels::Duration deadline_;
  std::vector<Part> parts_;
  bool named_early_ = false;
  std::uint64_t read_bytes_ = 0;
  std::optional<std::uint64_t> counted_before_;
};

}  // namespace claimcheck::bench
