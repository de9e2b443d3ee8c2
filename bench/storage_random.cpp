// Random 4 KiB reads and writes by fio, 32 requests in flight past the page cache, on a file whose every block carries
// a checksum and its place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "bench/benchmark.h"
#include "bench/child_process.h"
#include "bench/fio.h"
#include "bench/scratch_file.h"

namespace claimcheck::bench {
namespace {

constexpr int requests = 32;
constexpr std::size_t block_bytes = 4096;
constexpr std::size_t default_bytes = std::size_t{256} << 20;
constexpr std::size_t granule = requests * block_bytes;  // every job has the same share

class RandomAccess {
 public:
  RandomAccess(const Options& options, bool writes)
      : writes_(writes),
        deadline_(options.deadline_seconds),
        milliseconds_(static_cast<int>(std::ceil(options.min_time_seconds * 1000)) + 10),
        engine_(find_engine()),
        file_(options.scratch_directory, options.file_bytes != 0
                                             ? std::max(granule, options.file_bytes / granule * granule)
                                             : affordable_bytes(options.scratch_directory, default_bytes, granule)) {
    const FioResult layout = fio(whole_file("write"), "write");
    if (layout.bytes != static_cast<double>(file_.size_bytes()))
      throw kernels::wrong_result(
          fmt::format("fio wrote {:g} bytes of a file of {}", layout.bytes, file_.size_bytes()));
  }

  Iteration iterate() {
    last_ = fio(timed(), writes_ ? "write" : "read");
    last_device_bytes_ = device_bytes_;
    Iteration iteration;
    iteration.seconds = last_.seconds;
    const std::string id = writes_ ? "storage.random_write" : "storage.random_read";
    iteration.also = {{id + ".iops", last_.iops}, {id + ".latency.us", last_.latency_us}};
    return iteration;
  }

  // fio reads the whole file and checks every block's checksum and place.
  void verify() { fio(whole_file("read"), "read"); }

  void spoil() const { file_.flip_bit(file_.size_bytes() / 2 + 1234); }

  nlohmann::json conditions() const {
    return {{"bytes", file_.size_bytes()},
            {"block_bytes", block_bytes},
            {"queue_depth", requests},
            {"jobs", engine_.jobs},
            {"data_pattern", "random, crc32c in every block"}};
  }

  nlohmann::json evidence() const {
    return {{"fio",
             {{"version", last_.version},
              {"engine", engine_.name},
              {"direct", true},
              {"bytes", last_.bytes},
              {"bytes_counted_by_the_kernel", last_device_bytes_}}}};
  }

 private:
  FioEngine find_engine() const {
    const ProgramResult list = run_program({"fio", "--enghelp"}, deadline_);
    return fio_engine(list.output, requests, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  }

  // The common arguments and more.
  std::vector<std::string> arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> result = {"fio",
                                       "--output-format=json",
                                       "--name=claimcheck",
                                       "--filename=" + file_.path(),
                                       "--allow_file_create=0",
                                       "--thread",
                                       "--direct=1",
                                       "--ioengine=" + engine_.name,
                                       "--randrepeat=1",
                                       "--group_reporting"};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }

  std::vector<std::string> whole_file(const std::string& direction) const {
    return arguments({"--rw=" + direction, fmt::format("--size={}", file_.size_bytes()),
                      fmt::format("--bs={}", granule), "--iodepth=8", "--verify=crc32c",
                      fmt::format("--verify_interval={}", block_bytes), "--verify_state_save=0",
                      direction == "write" ? "--do_verify=0" : "--verify_fatal=1"});
  }

  // Each job has a part of the file to itself.
  std::vector<std::string> timed() const {
    const std::size_t share = file_.size_bytes() / static_cast<std::size_t>(engine_.jobs);
    std::vector<std::string> more = {writes_ ? "--rw=randwrite" : "--rw=randread",
                                     fmt::format("--bs={}", block_bytes),
                                     fmt::format("--iodepth={}", engine_.depth),
                                     fmt::format("--numjobs={}", engine_.jobs),
                                     fmt::format("--size={}", share),
                                     fmt::format("--offset_increment={}", share),
                                     "--time_based",
                                     fmt::format("--runtime={}ms", milliseconds_)};
    // What is written keeps the blocks checkable.
    if (writes_) more.insert(more.end(), {"--verify=crc32c", "--do_verify=0", "--verify_state_save=0"});
    return arguments(more);
  }

  FioResult fio(const std::vector<std::string>& arguments, const std::string& direction) {
    const ProgramResult program = run_program(arguments, deadline_);
    FioResult result = parse_fio(program.errors + program.output, direction);
    device_bytes_ = direction == "read" ? program.device_read_bytes : program.device_written_bytes;
    if (static_cast<double>(device_bytes_) < 0.9 * result.bytes)
      throw kernels::unsupported(
          fmt::format(
              "fio moved {:g} bytes but the kernel counted only {} at devices, so this would not measure a disk",
              result.bytes, device_bytes_),
          "give a directory on a local disk with --scratch");
    return result;
  }

  bool writes_;
  kernels::Duration deadline_;
  int milliseconds_;
  FioEngine engine_;
  ScratchFile file_;
  FioResult last_;                  // of the timed ones
  std::uint64_t device_bytes_ = 0;  // of the latest fio, whatever it was for
  std::uint64_t last_device_bytes_ = 0;
};

Prepared prepare(Setting& setting, bool writes) {
  const auto access = std::make_shared<RandomAccess>(setting.options, writes);
  Prepared prepared;
  prepared.run = [access] { return access->iterate(); };
  prepared.verify = [access] { access->verify(); };
  prepared.spoil = [access] { access->spoil(); };
  prepared.conditions = access->conditions();
  prepared.evidence = [access] { return access->evidence(); };
  prepared.warm_up = false;
  return prepared;
}

std::vector<Case> cases(kernels::Platform&, const Options& options) {
  require_program("fio");
  require_direct_access(options.scratch_directory);
  // fio itself takes about half a second to start and to end.
  return {{.label = "", .setup_seconds = 3, .iteration_seconds = options.min_time_seconds + 0.5}};
}

bool declare(bool writes) {
  const std::string id = writes ? "storage.random_write" : "storage.random_read";
  return add({.id = id,
              .metric = id + ".iops",
              .unit = "IOPS",
              .method = id + "/1",
              .summary = fmt::format("Random 4 KiB {} a second, 32 in flight, by fio.", writes ? "writes" : "reads"),
              .scope = Scope::machine,
              .rate = Rate::ratio,
              .priority = 3,
              .also = {{id + ".latency.us", "us"}},
              .cases = cases,
              .prepare = [writes](Setting& setting) { return prepare(setting, writes); }});
}

const bool declared = declare(true) && declare(false);

}  // namespace
}  // namespace claimcheck::bench
