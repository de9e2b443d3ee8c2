// A checkpoint's way to the disk and back: one large file, written with fsync and read past the page cache.
#include <fmt/format.h>

#include <algorithm>

#include "bench/benchmark.h"
#include "bench/checkpoint_file.h"
#include "bench/facts_json.h"

namespace claimcheck::bench {
namespace {

constexpr std::size_t default_bytes = std::size_t{1} << 30;
constexpr std::size_t trial_bytes = std::size_t{128} << 20;

// Longest that writing or reading the file may take.
double allowed_seconds(const Options& options) { return std::clamp(4 * options.min_time_seconds, 0.5, 2.0); }

std::shared_ptr<CheckpointFile> written_file(const Options& options, std::size_t bytes) {
  auto file = std::make_shared<CheckpointFile>(options.scratch_directory, bytes, options.seed,
                                               kernels::Duration(options.deadline_seconds));
  file->write();
  return file;
}

// A file on the disk, of the size asked for; else as large as a trial says can be written and read in the time allowed.
std::shared_ptr<CheckpointFile> make_file(const Options& options) {
  constexpr std::size_t block = CheckpointFile::largest_block_bytes;
  if (options.file_bytes != 0) return written_file(options, options.file_bytes);
  const std::size_t affordable = affordable_bytes(options.scratch_directory, default_bytes, block);
  const std::size_t trial = std::min(trial_bytes, affordable);
  std::shared_ptr<CheckpointFile> file = written_file(options, trial);
  // The second write: the first one also pays for making the file.
  const double seconds = std::max(file->write(), file->read());
  const double reached = static_cast<double>(trial) * allowed_seconds(options) / seconds;
  const std::size_t bytes = reached < static_cast<double>(affordable) ? static_cast<std::size_t>(reached) : affordable;
  if (bytes < trial + block) return file;
  file.reset();  // its space may be needed
  return written_file(options, bytes / block * block);
}

Prepared prepare(Setting& setting, bool writes) {
  const std::shared_ptr<CheckpointFile> file = make_file(setting.options);
  Prepared prepared;
  prepared.work = static_cast<double>(file->size_bytes());
  prepared.run = [file, writes] {
    Iteration iteration;
    iteration.seconds = writes ? file->write() : file->read();
    return iteration;
  };
  prepared.verify = [file] {
    file->verify();
    file->check_device_reads();
  };
  prepared.spoil = [file] { file->spoil(); };
  prepared.conditions = {{"bytes", file->size_bytes()},
                         {"block_bytes", file->block_bytes()},
                         {"queue_depth", CheckpointFile::threads},
                         {"data_pattern", "random, not compressible, every page different"},
                         {"file", writes ? "preallocated, overwritten, fsync included" : "read past the page cache"}};
  prepared.evidence = [file] { return nlohmann::json{{"storage", to_json(file->facts())}}; };
  prepared.warm_up = false;
  return prepared;
}

std::vector<Case> cases(kernels::Platform&, const Options& options) {
  require_direct_access(options.scratch_directory);
  // Until a disk was tried: 1 GB/s, and what make_file() allows.
  const double bytes = options.file_bytes != 0 ? static_cast<double>(options.file_bytes) : default_bytes;
  const double seconds = std::min(bytes / 1e9, allowed_seconds(options));
  // A trial, the file itself, one iteration more, and reading it all twice for verify().
  return {{.label = "", .setup_seconds = 0.5 + 4 * seconds, .iteration_seconds = seconds}};
}

bool declare(bool writes) {
  const std::string id = writes ? "storage.write" : "storage.read";
  return add({.id = id,
              .metric = id + ".gbps",
              .unit = "GB/s",
              .method = id + "/1",
              .summary = writes ? "Saving a checkpoint: one large file written past the page cache, fsync included."
                                : "Restoring a checkpoint: one large file read past the page cache.",
              .scope = Scope::machine,
              .cases = cases,
              .prepare = [writes](Setting& setting) { return prepare(setting, writes); }});
}

const bool declared = declare(true) && declare(false);

}  // namespace
}  // namespace claimcheck::bench
