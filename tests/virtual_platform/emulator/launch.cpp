#include "tests/virtual_platform/emulator/launch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "tests/virtual_platform/emulator/costs.h"
#include "tests/virtual_platform/emulator/grid.h"
#include "tests/virtual_platform/engine/identity.h"

namespace virtual_platform {

namespace {

constexpr int illegal_address = 700;  // cudaErrorIllegalAddress

// Rules by kernel; demangling takes longer than a launch should.
const CostRule& rule_of(const CompiledKernel& kernel) {
  static auto& rules = *new std::unordered_map<const CompiledKernel*, CostRule>;
  const auto found = rules.find(&kernel);
  return found != rules.end() ? found->second : rules.emplace(&kernel, cost_rule(kernel.name)).first->second;
}

// A launch with its own copy of the arguments.
struct Launch {
  const CompiledKernel* kernel = nullptr;
  uint3 blocks = {};
  uint3 threads = {};
  int device = 0;
  std::vector<std::max_align_t> values;
  std::vector<void*> arguments;
  std::vector<Allocation> allocations;  // that arguments point into, in their order
  std::uint64_t identity = 0;           // same kernel, grid, memory and amount of work
  // The same, but for which memory it is: what one launch did, the other will do to its own memory.
  std::string shape;
};

// What is known of a launch of a shape.
struct Shape {
  struct Use {
    std::size_t allocation;  // among those of the arguments
    Traffic traffic;
  };
  std::vector<Use> uses;
};

// The same for one identity.
struct Known {
  std::shared_ptr<const Footprint> footprint;
  KernelCost cost;
  std::vector<Flow> flows;
};

struct Memory {
  std::unordered_map<std::string, Shape> shapes;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Known>> known;
};

Memory& memory() {
  static Memory& one = *new Memory;
  return one;
}

void append(std::string& text, std::uint64_t value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Makes pointers usable by the emulator and says what they point to, in the identity and in the shape.
class ArgumentReader {
 public:
  ArgumentReader(Launch& launch, Identity& identity) : launch_(launch), identity_(identity) {}

  void read(const Parameter& parameter, std::byte* value, bool is_free) {
    if (is_free || parameter.kind == ParameterKind::floating) return;
    for (std::size_t offset = 0; offset < parameter.bytes; offset += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      const std::size_t bytes = std::min(sizeof word, parameter.bytes - offset);
      std::memcpy(&word, value + offset, bytes);
      const bool may_point = parameter.kind == ParameterKind::pointer || parameter.kind == ParameterKind::other;
      const std::uint64_t translated = may_point && bytes == sizeof word ? read_pointer(word) : word;
      if (translated == word || find_allocation(Address{word}) == nullptr) append(launch_.shape, word);
      if (translated != word) std::memcpy(value + offset, &translated, sizeof translated);
      identity_.add(word);
    }
  }

 private:
  std::uint64_t read_pointer(std::uint64_t word) {
    const Address translated = accessible(Address{word});
    const Allocation* allocation = find_allocation(word);
    if (allocation == nullptr) return translated;
    identity_.add(allocation->number);
    auto& all = launch_.allocations;
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const Allocation& one) { return one.number == allocation->number; });
    append(launch_.shape, static_cast<std::uint64_t>(known - all.begin()));
    append(launch_.shape, word - allocation->begin);
    append(launch_.shape, allocation->bytes);
    append(launch_.shape, access(*allocation));
    identity_.add(access(*allocation));
    if (known == all.end()) all.push_back(*allocation);
    return translated;
  }

  // Where it is as seen from the kernel: 0 here, 1 on the host, 2 on a peer, 3 on a peer without access to it.
  std::uint64_t access(const Allocation& allocation) const {
    if (allocation.device == launch_.device) return 0;
    if (allocation.device == host) return 1;
    return (device(launch_.device).peers >> allocation.device & 1U) != 0 ? 2 : 3;
  }

  Launch& launch_;
  Identity& identity_;
};

void copy_arguments(Launch& launch, void* const* arguments) {
  const CompiledKernel& kernel = *launch.kernel;
  const auto units = [](std::size_t bytes) {
    return (bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
  };
  std::size_t total = 0;
  for (std::size_t i = 0; i < kernel.parameter_count; ++i) total += units(kernel.parameters[i].bytes);
  launch.values.resize(total);
  Identity identity(kernel.name);
  for (const uint3& three : {launch.blocks, launch.threads})
    for (const unsigned one : {three.x, three.y, three.z}) {
      identity.add(std::uint64_t{one});
      append(launch.shape, one);
    }
  identity.add(static_cast<std::uint64_t>(launch.device));
  append(launch.shape, reinterpret_cast<std::uint64_t>(&kernel));
  const int free_argument = rule_of(kernel).free_argument;
  ArgumentReader reader(launch, identity);
  std::size_t at = 0;
  for (std::size_t i = 0; i < kernel.parameter_count; ++i) {
    auto* value = reinterpret_cast<std::byte*>(&launch.values[at]);
    std::memcpy(value, arguments[i], kernel.parameters[i].bytes);
    reader.read(kernel.parameters[i], value, static_cast<int>(i) == free_argument);
    launch.arguments.push_back(value);
    at += units(kernel.parameters[i].bytes);
  }
  launch.identity = identity.value();
}

// Runs it; on an illegal access the device is lost. Null then, and when it touched memory no argument points to, which
// cannot be foretold for other launches.
const Shape* run_and_remember(const Launch& launch) {
  const GridReport report =
      run_grid({launch.kernel, launch.blocks, launch.threads, launch.device}, launch.arguments.data());
  if (!report.error.empty()) {
    std::fprintf(stderr, "virtual platform: GPU %d, kernel %s: %s\n", launch.device, launch.kernel->name,
                 report.error.c_str());
    device(launch.device).error = illegal_address;
    return nullptr;
  }
  Shape shape;
  for (const Traffic& traffic : report.traffic) {
    const std::uint32_t number = address_space().allocations[traffic.slot].number;
    const auto& all = launch.allocations;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Allocation& one) { return one.number == number; });
    if (found != all.end()) shape.uses.push_back({static_cast<std::size_t>(found - all.begin()), traffic});
  }
  return &(memory().shapes[launch.shape] = std::move(shape));
}

std::shared_ptr<const Known> knowledge(const Launch& launch, const Shape& shape) {
  auto known = std::make_shared<Known>();
  auto footprint = std::make_shared<Footprint>();
  KernelCost& cost = known->cost;
  for (const Shape::Use& use : shape.uses) {
    const Allocation& allocation = launch.allocations[use.allocation];
    const Traffic& traffic = use.traffic;
    const auto place = [&](const Range& range) {
      return Range{allocation.begin + range.begin, allocation.begin + range.end};
    };
    if (!traffic.read.empty() && !traffic.reads_own) footprint->reads.push_back(place(traffic.read));
    if (!traffic.written.empty()) footprint->writes.push_back(place(traffic.written));
    const auto read = static_cast<double>(traffic.read_bytes);
    const auto written = static_cast<double>(traffic.written_bytes);
    cost.footprint_bytes +=
        static_cast<double>(std::max(traffic.read.end, traffic.written.end) -
                            (traffic.read.empty()      ? traffic.written.begin
                             : traffic.written.empty() ? traffic.read.begin
                                                       : std::min(traffic.read.begin, traffic.written.begin)));
    if (allocation.device == launch.device) {
      cost.memory_bytes += read + written;
    } else if (allocation.device == host) {
      cost.host_bytes_read += read;
      cost.host_bytes_written += written;
    } else {
      cost.peer_bytes_read.resize(static_cast<std::size_t>(device_count()));
      cost.peer_bytes_written.resize(static_cast<std::size_t>(device_count()));
      cost.peer_bytes_read[static_cast<std::size_t>(allocation.device)] += read;
      cost.peer_bytes_written[static_cast<std::size_t>(allocation.device)] += written;
    }
    if (allocation.device == launch.device) continue;
    if (read > 0) known->flows.push_back({allocation.device, launch.device});
    if (written > 0) known->flows.push_back({launch.device, allocation.device});
  }
  known->footprint = std::move(footprint);
  constexpr std::size_t many = 4096;
  if (memory().known.size() > many) memory().known.clear();
  memory().known[launch.identity] = known;
  return known;
}

// Fills in what the work lacks, running it if nothing like it ran before.
void discover(const Launch& launch, Work& work, std::shared_ptr<const Known>& known) {
  const auto found = memory().known.find(launch.identity);
  if (found != memory().known.end()) {
    known = found->second;
  } else {
    const auto shape = memory().shapes.find(launch.shape);
    const Shape* like = shape == memory().shapes.end() ? nullptr : &shape->second;
    if (like == nullptr) {
      std::vector<Range> reachable;
      for (const Allocation& allocation : launch.allocations) reachable.push_back(allocation.whole());
      run_pending(reachable);
      like = run_and_remember(launch);
      work.effect = nullptr;
    }
    if (like == nullptr) return;
    known = knowledge(launch, *like);
  }
  work.footprint = known->footprint;
  work.flows = known->flows;
}

double seconds(const Launch& launch, const Known& known, double start) {
  const CostRule& rule = rule_of(*launch.kernel);
  if (rule.add == nullptr) return kernel_seconds(launch.device, known.cost, start);
  KernelCost cost = known.cost;
  rule.add(cost, {launch.kernel, launch.blocks, launch.threads, launch.device, launch.arguments}, rule.variant);
  return kernel_seconds(launch.device, cost, start);
}

}  // namespace

Work launch_work(int device_index, const CompiledKernel& kernel, uint3 blocks, uint3 threads, void* const* arguments) {
  const std::lock_guard lock(engine_mutex());
  const auto launch = std::make_shared<Launch>();
  launch->kernel = &kernel;
  launch->blocks = blocks;
  launch->threads = threads;
  launch->device = device_index;
  copy_arguments(*launch, arguments);
  const auto known = std::make_shared<std::shared_ptr<const Known>>();
  Work work{.kind = "kernel", .name = kernel.name};
  work.engines = {{device_index, Engine::compute}};
  work.identity = launch->identity;
  work.discover = [launch, known](Work& self) { discover(*launch, self, *known); };
  work.effect = [launch] { run_and_remember(*launch); };
  work.seconds = [launch, known](double start) { return seconds(*launch, **known, start); };
  return work;
}

}  // namespace virtual_platform
