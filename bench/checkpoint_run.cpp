#include "bench/checkpoint_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>

#include "bench/checkpoint_content.h"
#include "bench/facts_json.h"
#include "bench/reference.h"
#include "bench/scratch_file.h"

namespace claimcheck::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t piece_bytes = std::size_t{4} << 20;  // of content that is made or looked at

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What was removed is forgotten by the disk before the clock starts, not within.
void sync_directory(const std::string& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

CheckpointRun::CheckpointRun(Setting& setting, CheckpointPlan plan)
    : world_(setting.world),
      plan_(std::move(plan)),
      deadline_(setting.options.deadline_seconds),
      counted_before_(bytes_read_from_devices()) {
  remove_abandoned_files(plan_.place.directory);
  for (kernels::Device* device : setting.platform.devices()) {
    Part part;
    part.device = device;
    part.seed = setting.options.seed + 1000 * static_cast<std::uint64_t>(world_.process()) + parts_.size();
    part.stream = device->make_stream();
    part.states = device->allocate(plan_.bytes_a_device);
    part.carrier = make_carrier(plan_.way, *device, *part.states, deadline_);
    parts_.push_back(std::move(part));
  }
  on_all_parts([this](Part& part) { fill(part); });
}

void CheckpointRun::fill(Part& part) const {
  std::vector<std::byte> content(std::min(piece_bytes, plan_.bytes_a_device));
  for (std::size_t first = 0; first < plan_.bytes_a_device; first += content.size()) {
    content.resize(std::min(content.size(), plan_.bytes_a_device - first));
    make_content(part.seed, first, content);
    part.device->upload(*part.stream, kernels::Slice(*part.states, first, content.size()), content);
  }
}

// So that a restore which does nothing is found out.
void CheckpointRun::forget(Part& part) const {
  part.device->fill(*part.stream, *part.states, kernels::DataType::fp64, kernels::Pattern::zeros, 0);
  part.stream->wait(deadline_);
}

void CheckpointRun::on_all_parts(const std::function<void(Part&)>& work) {
  if (parts_.size() == 1) return work(parts_[0]);
  std::vector<std::future<void>> workers;
  for (Part& part : parts_) workers.push_back(std::async(std::launch::async, [&] { work(part); }));
  for (std::future<void>& worker : workers) worker.wait();
  for (std::future<void>& worker : workers) worker.get();
}

Iteration CheckpointRun::timed(const std::function<void(Part&)>& work) {
  Iteration iteration;
  world_.barrier();
  Clock::time_point start = Clock::now();
  const auto one = [&](Part& part) {
    work(part);
    part.seconds = seconds_since(start);
  };
  if (plan_.at_once) {
    on_all_parts(one);
  } else {
    for (Part& part : parts_) {
      start = Clock::now();
      one(part);
      iteration.device_seconds.push_back(part.seconds);
      iteration.busy_seconds += part.seconds;
    }
  }
  // Of all devices at once the value is that of the whole, not of a device: no device_seconds.
  for (const Part& part : parts_) iteration.seconds = std::max(iteration.seconds, part.seconds);
  return iteration;
}

Iteration CheckpointRun::save() {
  for (Part& part : parts_) part.file.reset();
  sync_directory(plan_.place.directory);
  const auto naming = plan_.way == Way::direct ? PublishedFile::Naming::early : PublishedFile::Naming::late;
  Iteration iteration = timed([&](Part& part) {
    part.file = std::make_unique<PublishedFile>(plan_.place, plan_.bytes_a_device, naming);
    part.carrier->save(*part.file);
    part.file->publish();
  });
  for (const Part& part : parts_) {
    named_early_ = named_early_ || part.file->had_name_early();
    part.file->withdraw();
  }
  return iteration;
}

Iteration CheckpointRun::restore() {
  on_all_parts([this](Part& part) { forget(part); });
  for (const Part& part : parts_) {
    // What another process brought in; our own accesses bring nothing.
    posix_fadvise(part.file->descriptor(), 0, 0, POSIX_FADV_DONTNEED);
    check_cache(part, "before");
  }
  Iteration iteration = timed([](Part& part) { part.carrier->restore(*part.file); });
  for (const Part& part : parts_) check_cache(part, "after");
  if (plan_.way == Way::pinned_host) read_bytes_ += parts_.size() * plan_.bytes_a_device;
  check_device_reads();
  return iteration;
}

void CheckpointRun::check_cache(const Part& part, const char* when) const {
  const std::size_t pages = cached_pages(part.file->descriptor(), plan_.bytes_a_device);
  if (pages == 0) return;
  throw kernels::unsupported(
      fmt::format("{} pages of the file were in the page cache {} restoring, so this would not measure the disk", pages,
                  when),
      "give a directory on another file system with " + plan_.place.option);
}

void CheckpointRun::check_device_reads() const {
  const std::optional<std::uint64_t> now = bytes_read_from_devices();
  if (!plan_.place.counts_reads || !now || !counted_before_ || *now - *counted_before_ >= read_bytes_) return;
  throw kernels::unsupported(
      fmt::format("{} bytes were read but the kernel counted only {} from devices, so this would not measure a disk",
                  read_bytes_, *now - *counted_before_),
      "give a directory on a local disk with " + plan_.place.option);
}

void CheckpointRun::verify_files() {
  on_all_parts([this](Part& part) {
    read_back(*part.file, deadline_, [&](std::size_t offset, std::span<const std::byte> content) {
      check_content(part.seed, offset, content,
                    fmt::format("the file saved from device {}", part.device->facts().index));
    });
  });
  read_bytes_ += parts_.size() * plan_.bytes_a_device;
  for (const Part& part : parts_) check_cache(part, "after");
  check_device_reads();
}

void CheckpointRun::verify_memory() {
  on_all_parts([this](Part& part) {
    std::vector<std::byte> content(std::min(piece_bytes, plan_.bytes_a_device));
    for (std::size_t first = 0; first < plan_.bytes_a_device; first += content.size()) {
      content.resize(std::min(content.size(), plan_.bytes_a_device - first));
      part.device->download(*part.stream, content, kernels::Slice(*part.states, first, content.size()));
      check_content(part.seed, first, content,
                    fmt::format("the memory of device {} after restoring", part.device->facts().index));
    }
  });
}

void CheckpointRun::spoil_files() const { parts_.back().file->flip_bit(plan_.bytes_a_device / 2 + 1234); }

void CheckpointRun::spoil_memory() {
  Part& part = parts_.back();
  bench::flip_bit(*part.device, *part.stream, *part.states, plan_.bytes_a_device / 2 + 1234, 4);
}

std::size_t CheckpointRun::checkpoint_bytes() const {
  const std::size_t files =
      plan_.at_once ? parts_.size() * static_cast<std::size_t>(std::max(1, world_.processes())) : 1;
  return plan_.bytes_a_device * files;
}

nlohmann::json CheckpointRun::conditions() const {
  const CheckpointPlace& place = plan_.place;
  nlohmann::json result = parts_[0].carrier->conditions();
  result.update({{"bytes", checkpoint_bytes()},
                 {"preset_bytes", plan_.preset_bytes},
                 {"count", parts_.size()},
                 {"devices_at_once", plan_.at_once ? nlohmann::json("all") : nlohmann::json(1)},
                 {"data_pattern", "random, not compressible"},
                 {"file", named_early_ ? "has its name from the start" : "has no name until it is whole"},
                 {"location", place.option == "--scratch" ? "scratch" : "checkpoint_dir"},
                 {"file_system", place.mount.type.empty() ? nlohmann::json() : nlohmann::json(place.mount.type)},
                 {"storage_device", place.mount.source.empty() ? nlohmann::json() : nlohmann::json(place.mount.source)},
                 {"limited_by", plan_.limited_by.empty() ? nlohmann::json() : nlohmann::json(plan_.limited_by)}});
  if (place.option != "--scratch") result["directory"] = place.directory;
  return result;
}

nlohmann::json CheckpointRun::evidence() const {
  const std::optional<std::uint64_t> now = bytes_read_from_devices();
  kernels::Fact counted;
  if (now && counted_before_) counted = static_cast<std::int64_t>(*now - *counted_before_);
  std::size_t cached = 0;
  std::vector<double> seconds;
  for (const Part& part : parts_) {
    cached += cached_pages(part.file->descriptor(), plan_.bytes_a_device);
    seconds.push_back(part.seconds);
  }
  const auto slowest = std::max_element(seconds.begin(), seconds.end()) - seconds.begin();
  return {{"storage",
           {{"page_cache", "O_DIRECT; mincore() found no page of the files before and after reading"},
            {"cached_pages", cached},
            {"read_bytes", read_bytes_},
            {"read_bytes_counted_by_the_kernel", to_json(counted)}}},
          {"device_seconds", seconds},
          {"slowest_device", parts_[static_cast<std::size_t>(slowest)].device->facts().index}};
}

std::vector<kernels::Device*> CheckpointRun::devices() const {
  std::vector<kernels::Device*> result;
  for (const Part& part : parts_) result.push_back(part.device);
  return result;
}

}  // namespace claimcheck::bench
