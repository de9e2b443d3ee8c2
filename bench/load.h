// Work that keeps a device busy, and runs of it on several devices at once. memory.cpp and gemm.cpp measure such runs;
// scaling.cpp compares one device with many.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "bench/benchmark.h"
#include "bench/lanes.h"

namespace claimcheck::bench {

// On one device, with its buffers and the check of its output.
class Load {
 public:
  virtual ~Load() = default;
  virtual void enqueue(kernels::Stream& stream) = 0;  // one pass
  virtual void verify(kernels::Stream& stream) = 0;   // everything written so far; throws wrong_result
  virtual void spoil(kernels::Stream& stream) = 0;    // flips one bit of the last pass's output
  virtual double work() const = 0;                    // of one pass: bytes, FLOP
  virtual nlohmann::json conditions() const = 0;
  virtual kernels::Facts facts() const { return {}; }  // library and algorithm, where there is a choice
};

class LoadRun {
 public:
  using Make = std::function<std::unique_ptr<Load>(kernels::Device& device, kernels::Stream& stream, std::size_t lane)>;

  // Makes a load for every device and finds how many passes make an iteration. Without devices it does nothing, but is
  // made by a process whose ranks wait while those of others work.
  LoadRun(Setting& setting, std::span<kernels::Device* const> devices, const Make& make);

  // One iteration on the first `count` devices, on all by default.
  Iteration iterate(std::size_t count = 0);
  void verify();
  void spoil();

  std::size_t size() const { return lanes_.size(); }
  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }
  double work() const;  // of one iteration and device
  nlohmann::json conditions() const;
  nlohmann::json evidence() const;

 private:
  Lanes lanes_;
  std::vector<std::unique_ptr<Load>> loads_;  // of each lane
  int passes_ = 1;
};

// A benchmark that is such a run on every device.
Prepared prepared_from(const std::shared_ptr<LoadRun>& run);

}  // namespace claimcheck::bench
