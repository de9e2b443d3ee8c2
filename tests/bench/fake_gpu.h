// GPUs that are not there: kernels::Platform on host memory with rates that are known, so that the benchmarks' own code
// runs in a unit test. Work is done at once; time is counted, not measured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench::test {

struct FakeRates {
  double memory = 1000e9;  // bytes/s
  double host_link = 20e9;
  double peer_link = 100e9;      // direct
  double around_by_host = 8e9;   // not direct
  double start_seconds = 1e-8;   // of one copy
  double cache_load = 200e-9;    // seconds
  double memory_load = 600e-9;   // where the list is larger than the cache
  double peer_load = 900e-9;     // seconds
  double vector_rate = 1e9;      // operations/s
  double tensor_rate = 4e9;      // FLOP/s
  double empty_kernel = 2.5e-6;  // seconds
};

struct FakeOptions {
  int devices = 2;
  FakeRates rates = {};
  int slow_device = -1;     // its rates are halved
  bool direct = true;       // peer access
  std::string broken = {};  // "copy", "chase", "vector", "tensor": that operation no longer writes its result
  std::size_t memory_bytes = std::size_t{256} << 20;
  bool has_units = true;  // vector and matrix units
};

class FakePlatform : public kernels::Platform {
 public:
  explicit FakePlatform(const FakeOptions& options);
  ~FakePlatform() override;

  void break_operation(const std::string& operation);

  std::string_view kind() const override { return "fake"; }
  // NVLinks from each to each, as kernels/cuda says it.
  kernels::Facts facts() const override;
  std::span<kernels::Device* const> devices() override { return devices_; }
  std::span<kernels::Device* const> ranks() override { return devices_; }
  std::unique_ptr<kernels::Gate> make_gate() override;
  kernels::Access access(const kernels::Device& from, const kernels::Device& to) override;
  std::unique_ptr<kernels::Group> make_group(std::span<kernels::Device* const> local, kernels::World& world) override;

 private:
  FakeOptions options_;
  std::vector<std::unique_ptr<kernels::Device>> owned_;
  std::vector<kernels::Device*> devices_;
};

}  // namespace claimcheck::bench::test
