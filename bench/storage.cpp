// A checkpoint's way to the disk and back: one large file, written with fsync and read past the page cache.
#include <fmt/format.h>

#include <algorithm>

#include "bench/benchmark.h"
#include "bench/checkpoint_file.h"
#include "bench/facts_json.h"

namespace claimcheck::bench {
namespace {

constexpr std::size_t default_bytes = std::size_t{1} << 30;
constexpr std::size_t smallest_bytes = std::size_t{128} << 20;

// A file on the disk, of the size asked for; else as large as can be written in four times the minimum time.
std::shared_ptr<CheckpointFile> make_file(const Options& options) {
  constexpr std::size_t block = CheckpointFile::largest_block_bytes;
  const bool asked = options.file_bytes != 0;
  const std::size_t wanted =
      asked ? options.file_bytes : affordable_bytes(options.scratch_directory, default_bytes, block);
  const auto file = std::make_shared<CheckpointFile>(options.scratch_directory, wanted, options.seed,
                                                     kernels::Duration(options.deadline_seconds));
  const double seconds = file->write();
  const double allowed = std::clamp(4 * options.min_time_seconds, 0.5, 2.0);
  if (asked || seconds <= allowed || wanted <= smallest_bytes) return file;
  const auto reached = static_cast<std::size_t>(static_cast<double>(wanted) * allowed / seconds);
  file->shrink(std::max(smallest_bytes, reached / block * block));
  return file;
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
  const double bytes = options.file_bytes != 0 ? static_cast<double>(options.file_bytes) : default_bytes;
  // Until a disk was tried: 1 GB/s, and what make_file() allows.
  const double allowed = std::clamp(4 * options.min_time_seconds, 0.5, 2.0);
  const double seconds = std::min(bytes / 1e9, allowed);
  return {{.label = "", .setup_seconds = bytes / 1e9 + 2.5 * seconds + 0.2, .iteration_seconds = seconds}};
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
