#include "fake_gpu.h"

#include <cmath>
#include <cstring>
#include <new>

#include "kernels/normal.h"

namespace claimcheck::bench::test {

using kernels::DataType;
using kernels::Placement;
using kernels::Slice;

namespace {

class FakeDevice;

class FakeBuffer final : public kernels::Buffer {
 public:
  FakeBuffer(std::size_t size, Placement placement, const FakeDevice* owner)
      : Buffer(::operator new (size + 512, std::align_val_t{512}), size, placement), owner_(owner) {
    std::memset(address_, 0xcd, size);
  }
  ~FakeBuffer() override { ::operator delete (address_, std::align_val_t{512}); }
  FakeBuffer(const FakeBuffer&) = delete;
  FakeBuffer& operator=(const FakeBuffer&) = delete;
  const FakeDevice* owner() const { return owner_; }

 private:
  const FakeDevice* owner_;
};

class FakeStream final : public kernels::Stream {
 public:
  void wait(kernels::Duration) override {}
  double now = 0;
};

double& now_of(kernels::Stream& stream) { return dynamic_cast<FakeStream&>(stream).now; }

class FakeTimer final : public kernels::Timer {
 public:
  void start(kernels::Stream& stream) override { start_ = now_of(stream); }
  void stop(kernels::Stream& stream) override { stop_ = now_of(stream); }
  double seconds() const override { return stop_ - start_; }

 private:
  double start_ = 0;
  double stop_ = 0;
};

class FakeGate final : public kernels::Gate {
 public:
  void hold(kernels::Stream&) override {}
  void open() override {}
};

class FakeWatch final : public kernels::Watch {
 public:
  kernels::Facts stop() override { return {{"samples", std::int64_t{0}}}; }
};

template <class Value>
Value* values(const Slice& slice) {
  return static_cast<Value*>(slice.address());
}

DataType type_of(kernels::VectorOp op) {
  switch (op) {
    case kernels::VectorOp::fp64:
      return DataType::fp64;
    case kernels::VectorOp::fp32:
      return DataType::fp32;
    case kernels::VectorOp::fp16:
      return DataType::fp16;
    case kernels::VectorOp::bf16:
      return DataType::bf16;
    default:
      return DataType::int32;
  }
}

double rounded(DataType type, double value) {
  std::vector<std::byte> stored(kernels::storage_bytes(type, 1));
  kernels::encode(type, std::span(&value, 1), stored);
  return kernels::decode(type, stored, 1)[0];
}

// One lane, as kernels/device.h defines it, value by value.
double float_lane(kernels::VectorOp op, double v, int chains, std::int64_t steps) {
  double sum = 0;
  const DataType type = type_of(op);
  for (int j = 0; j < chains; ++j) {
    double x = rounded(type, v / 8 + j / 16.0);
    for (std::int64_t i = 0; i < steps; ++i) x = rounded(type, std::fma(x, x, -1.8125));
    sum = j == 0 ? x : rounded(type, sum + x);
  }
  return sum;
}

std::uint32_t integer_lane(kernels::VectorOp op, std::uint32_t v, int chains, std::int64_t steps) {
  std::uint32_t sum = 0;
  for (int j = 0; j < chains; ++j) {
    std::uint32_t x = v + static_cast<std::uint32_t>(j);
    for (std::int64_t i = 0; i < steps; ++i) {
      if (op == kernels::VectorOp::int32) {
        x = 1664525U * x + 1013904223U;
        continue;
      }
      // Bytes of 0xff02fd04, lowest first: 4, -3, 2, -1.
      const auto byte = [x](int number) {
        return static_cast<std::int32_t>(static_cast<std::int8_t>(x >> 8 * number));
      };
      x = v + static_cast<std::uint32_t>(4 * byte(0) - 3 * byte(1) + 2 * byte(2) - byte(3));
    }
    sum += x;
  }
  return sum;
}

class FakeDevice final : public kernels::Device {
 public:
  FakeDevice(const FakeOptions& options, int index) : options_(options), factor_(index == options.slow_device ? 2 : 1) {
    facts_.index = index;
    facts_.name = "fake GPU";
    facts_.memory_bytes = options.memory_bytes;
    facts_.free_memory_bytes = options.memory_bytes;
    facts_.last_level_cache_bytes = std::size_t{512} << 10;
    facts_.compute_units = 2;
    facts_.is_virtual = true;
  }

  const kernels::DeviceFacts& facts() const override { return facts_; }
  std::unique_ptr<kernels::Watch> watch() override { return std::make_unique<FakeWatch>(); }
  std::unique_ptr<kernels::Stream> make_stream() override { return std::make_unique<FakeStream>(); }
  std::unique_ptr<kernels::Timer> make_timer() override { return std::make_unique<FakeTimer>(); }
  std::unique_ptr<kernels::Buffer> allocate(std::size_t size, Placement placement) override {
    return std::make_unique<FakeBuffer>(size, placement, this);
  }

  void fill(kernels::Stream&, Slice target, DataType type, kernels::Pattern pattern, std::uint64_t seed) override {
    const std::size_t count = target.size_bytes / kernels::storage_bytes(type, 1);
    std::vector<double> made(count + 1, 0.0);
    if (pattern == kernels::Pattern::normal)
      for (std::size_t i = 0; i < count; i += 2)
        kernels::normal_pair(kernels::normal_key(seed), i / 2, made[i], made[i + 1]);
    for (double& value : made) value *= kernels::normal_scale(type);
    made.resize(count);
    kernels::encode(type, made, std::span(values<std::byte>(target), kernels::storage_bytes(type, count)));
  }
  void upload(kernels::Stream&, Slice target, std::span<const std::byte> source) override {
    std::memcpy(target.address(), source.data(), source.size());
  }
  void download(kernels::Stream&, std::span<std::byte> target, Slice source) override {
    std::memcpy(target.data(), source.address(), target.size());
  }
  void memory(kernels::Stream&, kernels::MemoryKernel, Slice, Slice, Slice, double) override {
    throw kernels::unsupported("not part of this fake");
  }
  void compare(kernels::Stream&, Slice, Slice, Slice) override { throw kernels::unsupported("not part of this fake"); }
  std::unique_ptr<kernels::Gemm> make_gemm(DataType, const kernels::GemmShape&) override {
    throw kernels::unsupported("not part of this fake");
  }

  void copy(kernels::Stream& stream, Slice target, Slice source, kernels::CopyEngine) override {
    if (options_.broken != "copy") std::memcpy(target.address(), source.address(), source.size_bytes);
    const auto bytes = static_cast<double>(source.size_bytes);
    take(stream, options_.rates.start_seconds + bytes / rate_between(target, source));
  }
  void chase(kernels::Stream& stream, Slice list, std::int64_t loads, Slice last) override {
    std::uint64_t at = 0;
    for (std::int64_t i = 0; i < loads; ++i) at = values<std::uint64_t>(list)[at];
    if (options_.broken != "chase") *values<std::uint64_t>(last) = at;
    const bool own = dynamic_cast<const FakeBuffer&>(*list.buffer).owner() == this;
    const bool cached = list.buffer->size_bytes() <= facts_.last_level_cache_bytes;
    const FakeRates& rates = options_.rates;
    take(stream, static_cast<double>(loads) * (!own ? rates.peer_load : cached ? rates.cache_load : rates.memory_load));
  }
  std::unique_ptr<kernels::VectorChains> make_vector(kernels::VectorOp op) override;
  std::unique_ptr<kernels::TensorTiles> make_tensor(DataType type) override;
  void launch_empty(kernels::Stream& stream) override { take(stream, options_.rates.empty_kernel); }

  void take(kernels::Stream& stream, double seconds) const { now_of(stream) += factor_ * seconds; }
  bool is_broken(const char* operation) const { return options_.broken == operation; }
  void break_operation(const std::string& operation) { options_.broken = operation; }
  const FakeRates& rates() const { return options_.rates; }

 private:
  double rate_between(const Slice& target, const Slice& source) const {
    const auto& to = dynamic_cast<const FakeBuffer&>(*target.buffer);
    const auto& from = dynamic_cast<const FakeBuffer&>(*source.buffer);
    const FakeRates& rates = options_.rates;
    if (to.placement() == Placement::pinned_host || from.placement() == Placement::pinned_host) return rates.host_link;
    if (to.owner() == from.owner()) return rates.memory;
    return options_.direct ? rates.peer_link : rates.around_by_host;
  }

  FakeOptions options_;
  double factor_;
  kernels::DeviceFacts facts_;
};

class FakeVector final : public kernels::VectorChains {
 public:
  FakeVector(const FakeDevice& device, kernels::VectorOp op) : device_(device), op_(op) {}
  void enqueue(kernels::Stream& stream, Slice input, Slice output, std::int64_t steps) override {
    const double work = static_cast<double>(lanes()) * chains() * operations() * static_cast<double>(steps);
    device_.take(stream, work / device_.rates().vector_rate);
    if (device_.is_broken("vector")) return;
    const DataType type = type_of(op_);
    const std::size_t size = kernels::storage_bytes(type, 1);
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes()); ++lane) {
      if (type == DataType::int32) {
        values<std::uint32_t>(output)[lane] = integer_lane(op_, values<std::uint32_t>(input)[lane], chains(), steps);
        continue;
      }
      const double v = kernels::decode(type, std::span(values<std::byte>(input) + lane * size, size), 1)[0];
      const double result = op_ == kernels::VectorOp::fp64 || op_ == kernels::VectorOp::fp32
                                ? exact_lane(v, steps)
                                : float_lane(op_, v, chains(), steps);
      kernels::encode(type, std::span(&result, 1), std::span(values<std::byte>(output) + lane * size, size));
    }
  }
  std::int64_t lanes() const override { return 200; }
  int chains() const override { return 3; }
  int operations() const override { return op_ == kernels::VectorOp::dp4a ? 8 : 2; }

 private:
  template <class Real>
  double lane_in(Real v, std::int64_t steps) const {
    Real sum = 0;
    for (int j = 0; j < chains(); ++j) {
      Real x = v / 8 + static_cast<Real>(j) / 16;
      for (std::int64_t i = 0; i < steps; ++i) x = std::fma(x, x, Real(-1.8125));
      sum = j == 0 ? x : sum + x;
    }
    return sum;
  }
  double exact_lane(double v, std::int64_t steps) const {
    return op_ == kernels::VectorOp::fp64 ? lane_in(v, steps) : lane_in(static_cast<float>(v), steps);
  }

  const FakeDevice& device_;
  kernels::VectorOp op_;
};

class FakeTensor final : public kernels::TensorTiles {
 public:
  FakeTensor(const FakeDevice& device, DataType type) : device_(device), type_(type) {}
  // The last tile takes part as the others do; sums are kept in float, as hardware does.
  void enqueue(kernels::Stream& stream, Slice a, Slice b, Slice c, std::int64_t steps) override {
    device_.take(stream, tile().flop() * static_cast<double>(tiles() * steps) / device_.rates().tensor_rate);
    if (device_.is_broken("tensor")) return;
    const auto [m, n, k] = tile();
    for (std::int64_t number = 0; number < tiles(); ++number) {
      const std::vector<double> left = part(type_, a, number, m * k);
      const std::vector<double> right = part(type_, b, number, k * n);
      std::vector<double> sums;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          double product = 0;
          for (std::int64_t l = 0; l < k; ++l)
            product += left[static_cast<std::size_t>(i * k + l)] * right[static_cast<std::size_t>(j * k + l)];
          sums.push_back(summed(product, steps));
        }
      const std::size_t size = kernels::storage_bytes(output_type(), sums.size());
      kernels::encode(output_type(), sums,
                      std::span(values<std::byte>(c) + static_cast<std::size_t>(number) * size, size));
    }
  }
  std::int64_t tiles() const override { return 20; }
  kernels::GemmShape tile() const override { return {4, 2, 8}; }
  DataType output_type() const override {
    return type_ == DataType::int8 ? DataType::int32 : type_ == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  }
  kernels::Facts facts() const override { return {{"instruction", std::string("fake.m4n2k8")}}; }

 private:
  static std::vector<double> part(DataType type, const Slice& all, std::int64_t number, std::int64_t count) {
    const std::size_t size = kernels::storage_bytes(type, static_cast<std::size_t>(count));
    return kernels::decode(type, std::span(values<std::byte>(all) + static_cast<std::size_t>(number) * size, size),
                           static_cast<std::size_t>(count));
  }
  double summed(double product, std::int64_t steps) const {
    if (type_ == DataType::int8) {
      std::uint32_t sum = 0;
      for (std::int64_t i = 0; i < steps; ++i) sum += static_cast<std::uint32_t>(static_cast<std::int64_t>(product));
      return static_cast<double>(static_cast<std::int32_t>(sum));
    }
    if (type_ == DataType::fp64) return static_cast<double>(steps) * product;
    float sum = 0;
    for (std::int64_t i = 0; i < steps; ++i) sum += static_cast<float>(product);
    return sum;
  }

  const FakeDevice& device_;
  DataType type_;
};

std::unique_ptr<kernels::VectorChains> FakeDevice::make_vector(kernels::VectorOp op) {
  if (!options_.has_units) throw kernels::unsupported("this fake has no vector units");
  return std::make_unique<FakeVector>(*this, op);
}

std::unique_ptr<kernels::TensorTiles> FakeDevice::make_tensor(DataType type) {
  if (!options_.has_units) throw kernels::unsupported("this fake has no matrix units");
  return std::make_unique<FakeTensor>(*this, type);
}

}  // namespace

FakePlatform::FakePlatform(const FakeOptions& options) : options_(options) {
  for (int index = 0; index < options.devices; ++index) {
    owned_.push_back(std::make_unique<FakeDevice>(options, index));
    devices_.push_back(owned_.back().get());
  }
}

FakePlatform::~FakePlatform() = default;

kernels::Facts FakePlatform::facts() const {
  kernels::Facts facts;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    std::vector<double> links(devices_.size(), 18.0);
    links[i] = 0;
    facts.emplace_back("gpu" + std::to_string(i) + "_nvlinks_to", links);
  }
  return facts;
}

void FakePlatform::break_operation(const std::string& operation) {
  for (kernels::Device* device : devices_) dynamic_cast<FakeDevice&>(*device).break_operation(operation);
}

std::unique_ptr<kernels::Gate> FakePlatform::make_gate() { return std::make_unique<FakeGate>(); }

kernels::Access FakePlatform::access(const kernels::Device&, const kernels::Device&) {
  return options_.direct ? kernels::Access::direct : kernels::Access::through_host;
}

std::unique_ptr<kernels::Group> FakePlatform::make_group(std::span<kernels::Device* const>, kernels::World&) {
  throw kernels::unsupported("not part of this fake");
}

}  // namespace claimcheck::bench::test
