// fio's normal output.
#include "tests/unit/import_tools_support.h"

namespace claimcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FioTextImport : public ToolImports {
 protected:
  // 6000 MiB in 3 s are 2097152000 bytes a second.
  const std::string text =
      "$ fio --name=seq --filename=/data/x --rw=read --bs=1M --direct=1 --numjobs=2\n"
      "seq: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, ioengine=libaio, "
      "iodepth=32\n...\n"
      "rnd: (g=1): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16\n"
      "fio-3.28\nStarting 3 processes\n"
      "Jobs: 2 (f=2): [R(2)][100.0%][r=2000MiB/s][r=2000 IOPS][eta 00m:00s]\n" +
      block("seq", 0, "IOPS=2000, BW=2000MiB/s (2097MB/s)(6000MiB/3000msec)", 900) +
      block("seq", 0, "IOPS=1000, BW=1000MiB/s (1049MB/s)(3000MiB/3000msec)", 600) +
      block("rnd", 1, "IOPS=85.1k, BW=332MiB/s (349MB/s)(997MiB/3000msec)", 188) +
      "\nRun status group 0 (all jobs):\n   READ: bw=3000MiB/s (3146MB/s), io=8.8GiB (9.4GB), run=3000-3000msec\n\n"
      "Disk stats (read/write):\n  nvme0n1: ios=100/0, merge=0/0, util=99.00%\n";

  static std::string block(const std::string& name, int group, const std::string& rates, int mean) {
    return name + ": (groupid=" + std::to_string(group) +
           ", jobs=1): err= 0: pid=77: Tue Dec  1 10:00:00 2026\n  read: " + rates +
           "\n    clat (nsec): min=278, max=10175, avg=1444.48, stdev=300.75\n     lat (usec): min=280, "
           "max=10177, avg=" +
           std::to_string(mean) +
           ".00, stdev=3.72\n    clat percentiles (nsec):\n     |  1.00th=[  873], 99.00th=[ 2212]\n"
           "  lat (usec)   : 500=0.03%\n  cpu          : usr=1.00%\n     issued rwts: total=1,0,0,0\n";
  }
};

TEST_F(FioTextImport, RatesComeFromBytesOverTimeAndJobsOfOneGroupAddUp) {
  const auto imported = import(text);
  EXPECT_NEAR(*measurement(imported, "storage.read.gbps").value, 3.145728, 1e-9);
  EXPECT_EQ(measurement(imported, "storage.read.gbps").conditions["block_bytes"], 1048576);
  EXPECT_EQ(measurement(imported, "storage.read.gbps").conditions["direct"], true);
  EXPECT_EQ(measurement(imported, "storage.random_read.iops").value, 85100);
  EXPECT_NEAR(*measurement(imported, "storage.random_read.latency.us").value, 188, 1e-9);
  EXPECT_EQ(measurement(imported, "storage.random_read.iops").evidence["percentiles_us"]["p99"], 2.212);
  EXPECT_EQ(imported.files[0].not_understood, 0U);
  EXPECT_EQ(imported.document.run["status"], "complete");
}

// fio 2 writes KB and means 1024 bytes: 102400 KB in 1 s are 104857600 bytes a second.
TEST_F(FioTextImport, Version2MeansKibibytes) {
  const auto imported = import(
      "w: (g=0): rw=write, bs=1M-1M/1M-1M/1M-1M, ioengine=sync, iodepth=1\nfio-2.14\nStarting 1 process\n"
      "w: (groupid=0, jobs=1): err= 0: pid=9: Mon Jan  1 00:00:00 2018\n"
      "  write: io=102400KB, bw=102400KB/s, iops=100, runt=  1000msec\n"
      "Run status group 0 (all jobs):\n");
  EXPECT_NEAR(*measurement(imported, "storage.write.gbps").value, 0.1048576, 1e-12);
  EXPECT_THAT(notes(imported), HasSubstr("whether fio went past the page cache (direct) is not in the document"));
}

TEST_F(FioTextImport, WhatEndsEarlySaysSo) {
  EXPECT_THAT(partial(import(text.substr(0, text.find("Jobs: 2")))), HasSubstr("started and printed no result"));
  EXPECT_THAT(partial(import(text.substr(0, text.find("\nRun status")) + "\n")), HasSubstr("before its summary"));
  EXPECT_THAT(partial(import(text)), Not(HasSubstr("summary")));
}

TEST_F(FioTextImport, AFailedJobHasNoRate) {
  std::string failed = text;
  failed.replace(failed.find("err= 0"), 6, "err= 5");
  const auto imported = import(failed);
  EXPECT_FALSE(measurement(imported, "storage.read.gbps").value);
  EXPECT_EQ(finding(imported, "import.fio_error").severity, "error");
}

TEST_F(FioTextImport, AnyBeginningIsRead) { expect_any_beginning_is_read(text); }

}  // namespace
}  // namespace claimcheck
