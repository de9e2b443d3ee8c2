#include "tests/virtual_platform/emulator/launch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "tests/virtual_platform/emulator/companion.h"
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

struct Known;

// A launch with its own copy of the arguments, in which pointers are private addresses.
struct Launch {
  const CompiledKernel* kernel = nullptr;
  uint3 blocks = {};
  uint3 threads = {};
  int device = 0;
  std::vector<std::max_align_t> values;
  std::vector<void*> arguments;
  std::uint64_t identity = 0;  // same kernel, grid, memory and amount of work
  std::shared_ptr<const Known> known;
  std::vector<bool> done;  // units that ran, once some did

  Grid grid() const;
};

// What is known of a launch of a shape.
struct Shape {
  struct Use {
    std::size_t allocation;  // among those of the arguments
    Traffic traffic;
  };
  struct UnitUse {
    std::size_t unit;
    std::size_t allocation;
    Range written;
  };
  std::vector<Use> uses;
  std::vector<UnitUse> unit_uses;  // of kernels whose warps can run one by one
};

// The same for one identity.
struct Known {
  std::shared_ptr<const Footprint> footprint;
  KernelCost cost;
  std::vector<Flow> flows;
  std::vector<std::pair<Range, std::size_t>> unit_writes;  // and which unit
};

struct Memory {
  std::unordered_map<std::string, Shape> shapes;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Known>> known;
};

Memory& memory() {
  static Memory& one = *new Memory;
  return one;
}

// Where memory is as seen from a kernel: 0 here, 1 on the host, 2 on a peer, 3 on a peer without access to it.
std::uint64_t access(int from, const Allocation& allocation) {
  if (allocation.device == from) return 0;
  if (allocation.device == host) return 1;
  return (device(from).peers >> allocation.device & 1U) != 0 ? 2 : 3;
}

// Calls see(word, where it is) for every argument, or word of one, that matters for what memory a kernel touches.
template <class See>
void for_each_word(const Launch& launch, const See& see) {
  const CompiledKernel& kernel = *launch.kernel;
  const int free_argument = rule_of(kernel).free_argument;
  for (std::size_t i = 0; i < kernel.parameter_count; ++i) {
    const Parameter& parameter = kernel.parameters[i];
    if (static_cast<int>(i) == free_argument || parameter.kind == ParameterKind::floating) continue;
    auto* const value = static_cast<std::byte*>(launch.arguments[i]);
    for (std::size_t offset = 0; offset < parameter.bytes; offset += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, value + offset, std::min(sizeof word, parameter.bytes - offset));
      see(word, parameter.kind == ParameterKind::integer ? nullptr : value + offset);
    }
  }
}

void copy_arguments(Launch& launch, void* const* arguments) {
  const CompiledKernel& kernel = *launch.kernel;
  const auto units = [](std::size_t size) { return (size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t); };
  std::size_t total = 0;
  for (std::size_t i = 0; i < kernel.parameter_count; ++i) total += units(kernel.parameters[i].bytes);
  launch.values.resize(total);
  launch.arguments.reserve(kernel.parameter_count);
  std::size_t at = 0;
  for (std::size_t i = 0; i < kernel.parameter_count; ++i) {
    std::memcpy(&launch.values[at], arguments[i], kernel.parameters[i].bytes);
    launch.arguments.push_back(&launch.values[at]);
    at += units(kernel.parameters[i].bytes);
  }
  Identity identity("launch");
  identity.add(static_cast<const void*>(launch.kernel));
  identity.add(static_cast<std::uint64_t>(launch.device));
  for (const uint3& three : {launch.blocks, launch.threads})
    for (const unsigned one : {three.x, three.y, three.z}) identity.add(std::uint64_t{one});
  for_each_word(launch, [&](std::uint64_t word, std::byte* place) {
    identity.add(word);
    const Address translated = accessible(Address{word});
    if (place == nullptr || translated == word) return;
    std::memcpy(place, &translated, sizeof translated);
    if (const Allocation* allocation = find_allocation(word))
      identity.add(allocation->number).add(access(launch.device, *allocation));
  });
  launch.identity = identity.value();
}

// What a launch is like, leaving out which memory it uses: what one did, others of the shape will do to theirs.
struct Likeness {
  std::string shape;
  std::vector<Allocation> allocations;  // that arguments point into, in their order
  bool separate = true;                 // no two arguments point into one
};

Likeness likeness_of(const Launch& launch) {
  Likeness likeness;
  const auto append = [&likeness](std::uint64_t value) {
    likeness.shape.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(reinterpret_cast<std::uint64_t>(launch.kernel));
  for (const uint3& three : {launch.blocks, launch.threads})
    for (const unsigned one : {three.x, three.y, three.z}) append(one);
  for_each_word(launch, [&](std::uint64_t word, const std::byte* place) {
    const Address seen = place == nullptr ? 0 : visible(Address{word});
    const Allocation* allocation = seen == 0 ? nullptr : find_allocation(seen);
    if (allocation == nullptr) return append(word);
    auto& all = likeness.allocations;
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const Allocation& one) { return one.number == allocation->number; });
    append(static_cast<std::uint64_t>(known - all.begin()));
    append(seen - allocation->begin);
    append(allocation->bytes);
    append(access(launch.device, *allocation));
    if (known == all.end())
      all.push_back(*allocation);
    else
      likeness.separate = false;
  });
  return likeness;
}

Grid Launch::grid() const { return {kernel, blocks, threads, device, rule_of(*kernel).by_warp}; }

// On an illegal access the device is lost.
void report_error(const Launch& launch, const std::string& error) {
  if (error.empty()) return;
  std::fprintf(stderr, "virtual platform: GPU %d, kernel %s: %s\n", launch.device, launch.kernel->name, error.c_str());
  device(launch.device).error = illegal_address;
}

// Units whose results are wanted (all without a range) and that did not run. True: every unit has run.
bool run(Launch& launch, std::span<const Range> wanted) {
  const Grid grid = launch.grid();
  launch.done.resize(grid.units());
  std::vector<std::size_t> units;
  for (std::size_t unit = 0; unit < grid.units() && wanted.empty(); ++unit)
    if (!launch.done[unit]) units.push_back(unit);
  for (const auto& [written, unit] : launch.known->unit_writes) {
    if (launch.done[unit]) continue;
    if (std::any_of(wanted.begin(), wanted.end(), [&](const Range& one) { return one.overlaps(written); }))
      units.push_back(unit);
  }
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  for (const std::size_t unit : units) launch.done[unit] = true;
  // Its like ran before and did nothing wrong.
  Grid quick = grid;
  quick.kernel = unchecked(grid.kernel);
  report_error(launch, run_units(quick, launch.arguments.data(), units).error);
  return std::find(launch.done.begin(), launch.done.end(), false) == launch.done.end();
}

// Null when it failed.
const Shape* run_and_remember(const Launch& launch, const Likeness& likeness) {
  const GridReport report = run_grid(launch.grid(), launch.arguments.data());
  report_error(launch, report.error);
  if (!report.error.empty()) return nullptr;
  const auto& all = likeness.allocations;
  const auto among_arguments = [&](std::size_t slot) {
    const std::uint32_t number = address_space().allocations[slot].number;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Allocation& one) { return one.number == number; });
    return static_cast<std::size_t>(found - all.begin());
  };
  Shape shape;
  for (const Traffic& traffic : report.traffic)
    if (const std::size_t index = among_arguments(traffic.slot); index < all.size())
      shape.uses.push_back({index, traffic});
  for (const UnitWrite& write : report.unit_writes)
    if (const std::size_t index = among_arguments(write.slot); index < all.size())
      shape.unit_uses.push_back({write.unit, index, write.written});
  return &(memory().shapes[likeness.shape] = std::move(shape));
}

std::size_t extent(const Traffic& traffic) {
  if (traffic.read.empty()) return traffic.written.end - traffic.written.begin;
  if (traffic.written.empty()) return traffic.read.end - traffic.read.begin;
  return std::max(traffic.read.end, traffic.written.end) - std::min(traffic.read.begin, traffic.written.begin);
}

void add_to_footprint(Footprint& footprint, const Allocation& allocation, const Traffic& traffic, bool by_data) {
  const auto place = [&](const Range& range) {
    return by_data ? allocation.whole() : Range{allocation.begin + range.begin, allocation.begin + range.end};
  };
  if (!traffic.read.empty() && !traffic.reads_own) footprint.reads.push_back(place(traffic.read));
  if (!traffic.written.empty()) footprint.writes.push_back(place(traffic.written));
}

void add_to_cost(Known& known, int device_index, const Allocation& allocation, const Traffic& traffic) {
  KernelCost& cost = known.cost;
  const auto read = static_cast<double>(traffic.read_bytes);
  const auto written = static_cast<double>(traffic.written_bytes);
  cost.footprint_bytes += static_cast<double>(extent(traffic));
  if (allocation.device == device_index) {
    cost.memory_bytes += read + written;
    return;
  }
  if (allocation.device == host) {
    cost.host_bytes_read += read;
    cost.host_bytes_written += written;
  } else {
    const auto owner = static_cast<std::size_t>(allocation.device);
    cost.peer_bytes_read.resize(static_cast<std::size_t>(device_count()));
    cost.peer_bytes_written.resize(static_cast<std::size_t>(device_count()));
    cost.peer_bytes_read[owner] += read;
    cost.peer_bytes_written[owner] += written;
  }
  if (read > 0) known.flows.push_back({allocation.device, device_index});
  if (written > 0) known.flows.push_back({device_index, allocation.device});
}

std::shared_ptr<const Known> knowledge(const Launch& launch, const Likeness& likeness, const Shape& shape) {
  auto known = std::make_shared<Known>();
  auto footprint = std::make_shared<Footprint>();
  for (const Shape::Use& use : shape.uses) {
    const Allocation& allocation = likeness.allocations[use.allocation];
    add_to_footprint(*footprint, allocation, use.traffic, rule_of(*launch.kernel).by_data);
    add_to_cost(*known, launch.device, allocation, use.traffic);
  }
  known->footprint = std::move(footprint);
  for (const Shape::UnitUse& use : shape.unit_uses) {
    const Address begin = likeness.allocations[use.allocation].begin;
    known->unit_writes.push_back({{begin + use.written.begin, begin + use.written.end}, use.unit});
  }
  constexpr std::size_t many = 4096;
  if (memory().known.size() > many) memory().known.clear();
  memory().known[launch.identity] = known;
  return known;
}

// Where the amount of work changes nothing about the memory, and inputs cannot be overwritten, the least work tells as
// much; the launch itself is still to be computed then.
const Shape* try_out(Launch& launch, const Likeness& likeness) {
  const auto index = static_cast<std::size_t>(rule_of(*launch.kernel).free_argument);
  const Parameter& parameter = launch.kernel->parameters[index];
  std::uint64_t value = 0;
  std::memcpy(&value, launch.arguments[index], parameter.bytes);
  const std::uint64_t least = std::min<std::uint64_t>(value, 1);
  std::memcpy(launch.arguments[index], &least, parameter.bytes);
  const Shape* shape = run_and_remember(launch, likeness);
  std::memcpy(launch.arguments[index], &value, parameter.bytes);
  return shape;
}

// Fills in what the work lacks, running it if nothing like it ran before.
void discover(Launch& launch, Work& work) {
  const auto found = memory().known.find(launch.identity);
  if (found != memory().known.end()) {
    launch.known = found->second;
  } else {
    const Likeness likeness = likeness_of(launch);
    const auto shape = memory().shapes.find(likeness.shape);
    const Shape* like = shape == memory().shapes.end() ? nullptr : &shape->second;
    if (like == nullptr) {
      std::vector<Range> reachable;
      for (const Allocation& allocation : likeness.allocations) reachable.push_back(allocation.whole());
      run_pending(reachable);
      if (rule_of(*launch.kernel).by_warp && likeness.separate) {
        like = try_out(launch, likeness);
      } else {
        like = run_and_remember(launch, likeness);
        work.effect = nullptr;
        work.partly = nullptr;
      }
    }
    if (like == nullptr) return;
    launch.known = knowledge(launch, likeness, *like);
  }
  work.footprint = launch.known->footprint;
  work.flows = launch.known->flows;
}

double seconds(const Launch& launch, double start) {
  const CostRule& rule = rule_of(*launch.kernel);
  if (rule.add == nullptr) return kernel_seconds(launch.device, launch.known->cost, start);
  KernelCost cost = launch.known->cost;
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
  Work work{.kind = "kernel", .name = kernel.name};
  work.engines = {{device_index, Engine::compute}};
  work.identity = launch->identity;
  work.discover = [launch](Work& self) { discover(*launch, self); };
  work.effect = [launch] { run(*launch, {}); };
  if (rule_of(kernel).by_warp) work.partly = [launch](std::span<const Range> wanted) { return run(*launch, wanted); };
  work.seconds = [launch](double start) { return seconds(*launch, start); };
  return work;
}

}  // namespace virtual_platform
