#include "harness/import/fio_job.h"

#include <fmt/format.h>

#include "harness/import/fields.h"
#include "harness/import/measured.h"
#include "harness/report/quantity.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr double large_block = 65536;
constexpr double small_block = 4096;

class FioReport {
 public:
  FioReport(Collected& collected, const std::string& file) : collected_(collected), file_(file) {}

  void report(const FioJob& job) {
    if (job.error != 0)
      collected_.add(
          Finding{"import.fio_error",
                  "error",
                  fmt::format("fio's job {} ended with error {:.0f}: its figures do not count.", job.name, job.error),
                  "Look at fio's own messages; a full or read-only file system is the usual cause.",
                  {}});
    const bool random = job.rw.starts_with("rand");
    const bool sequential = job.rw == "read" || job.rw == "write" || job.rw == "rw" || job.rw == "readwrite";
    const auto block = binary_bytes(job.bs.empty() ? "4096" : job.bs.substr(0, job.bs.find_first_of(",-")));
    for (const auto& [side, sum] : job.directions) {
      if ((!random && !sequential) || !block) {
        collected_.note(
            fmt::format("job {}, {}: {} at {} IOPS; the document does not say rw and bs, so no metric takes it",
                        job.name, side, quantity_text(sum.bytes_per_second / 1e9, "GB/s"), number_text(sum.iops)));
        continue;
      }
      const bool fits = random ? *block == small_block : *block >= large_block;
      if (!fits) {
        collected_.note(
            fmt::format("{} {} of {}: {}, {} IOPS; metrics here are of random 4 KiB and of sequential large blocks",
                        random ? "random" : "sequential", side, binary_bytes_text(*block),
                        quantity_text(sum.bytes_per_second / 1e9, "GB/s"), number_text(sum.iops)));
        continue;
      }
      report_side(job, side, sum, random, *block);
    }
  }

 private:
  json conditions(const FioJob& job, double block) const {
    json made = {{"method", "fio"}, {"rw", job.rw}, {"block_bytes", block}, {"statistic", "mean"}};
    if (job.direct) made["direct"] = *job.direct;
    if (job.depth) made["queue_depth"] = *job.depth;
    if (job.jobs) made["jobs"] = *job.jobs;
    if (!job.host.empty()) made["host"] = job.host;
    if (job.directions.size() > 1) made["mixed"] = true;
    if (!file_.empty()) made["file"] = file_;
    return made;
  }

  void keep(Measurement made, const FioJob& job) {
    if (job.error != 0) {
      made.status = Outcome::failed;
      made.reason = fmt::format("fio ended with error {:.0f}", job.error);
      made.value.reset();
    } else if (job.direct && !*job.direct) {
      made.status = Outcome::failed;
      made.reason = "through the page cache (direct=0): not a rate of the device";
      made.evidence["through_page_cache"] = *made.value;
      made.value.reset();
    }
    collected_.add(made);
  }

  void report_side(const FioJob& job, const std::string& side, const FioDirection& sum, bool random, double block) {
    const std::string name = fmt::format("storage.{}{}", random ? "random_" : "", side);
    const std::string id =
        fmt::format("{}/fio/{}/bs:{:.0f}{}", name, job.rw, block, job.host.empty() ? "" : "/" + job.host);
    if (!job.direct) collected_.note("whether fio went past the page cache (direct) is not in the document");
    if (job.directions.size() > 1)
      collected_.note("reads and writes at the same time: each figure is lower than alone");
    Measurement made = measured(id, name + (random ? ".iops" : ".gbps"), random ? "IOPS" : "GB/s",
                                random ? sum.iops : sum.bytes_per_second / 1e9, conditions(job, block));
    made.evidence = {{"bytes_per_second", sum.bytes_per_second}, {"iops", sum.iops}, {"jobname", job.name}};
    if (!sum.percentiles_us.empty()) made.evidence["percentiles_us"] = sum.percentiles_us;
    keep(made, job);
    if (!random && side == "write") collected_.note("a final fsync is in fio's write rate only with end_fsync");
    if (!random || !sum.complete_latency || sum.operations <= 0) return;
    made.metric = name + ".latency.us";
    made.unit = "us";
    made.value = sum.latency_sum / sum.operations;
    keep(made, job);
  }

  Collected& collected_;
  const std::string& file_;
};

}  // namespace

void report_fio_job(Collected& collected, const FioJob& job, const std::string& file) {
  FioReport(collected, file).report(job);
}

}  // namespace claimcheck::importing
