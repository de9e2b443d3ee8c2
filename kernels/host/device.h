// The CPU as a device: all its cores as one, or one core of it as a rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/host/buffer.h"
#include "kernels/host/cpu.h"
#include "kernels/host/team.h"

namespace claimcheck::kernels::host {

class HostDevice final : public Device {
 public:
  // `all_cpus`: what the process may use.
  HostDevice(DeviceFacts facts, std::vector<int> cores, std::vector<int> all_cpus, bool whole_machine);

  int first_core() const { return cores_.front(); }
  // Whether so many bytes are better written past the caches than left in them. Unknown caches: no.
  bool past_caches(std::size_t bytes) const;

  const DeviceFacts& facts() const override { return facts_; }
  std::unique_ptr<Watch> watch() override;
  Facts sense() override;
  std::unique_ptr<Stream> make_stream() override;
  std::unique_ptr<Timer> make_timer() override;
  std::unique_ptr<Buffer> allocate(std::size_t size_bytes, Placement placement) override;
  void fill(Stream& stream, Slice target, DataType type, Pattern pattern, std::uint64_t seed) override;
  void upload(Stream& stream, Slice target, std::span<const std::byte> source) override;
  void download(Stream& stream, std::span<std::byte> target, Slice source) override;
  void memory(Stream& stream, MemoryKernel kernel, Slice a, Slice b, Slice c, double scalar) override;
  void compare(Stream& stream, Slice a, Slice b, Slice count) override;
  std::unique_ptr<Gemm> make_gemm(DataType type, const GemmShape& shape) override;
  void copy(Stream& stream, Slice target, Slice source, CopyEngine engine) override;
  std::unique_ptr<Neural> make_neural() override;
  void order(Stream& later, Stream& earlier) override;

 private:
  DeviceFacts facts_;
  std::vector<int> cores_;
  std::vector<int> all_cpus_;
  bool whole_machine_;
  std::shared_ptr<Team> team_;  // shared with work in flight
};

}  // namespace claimcheck::kernels::host
