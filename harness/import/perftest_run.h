// One run of a program of perftest (ib_write_bw and kin), as one side printed it, and what its figures mean.
//
// Units [perftest, perftest_parameters.h]: "MB/sec" and "MiB/sec" are 2^20 bytes a second, "Gb/sec" 1e9 bits. A peak of
// 0.00 was not measured (duration mode). A bidirectional run prints the sum of both directions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/import/collected.h"

namespace claimcheck::importing {

struct PerftestRow {
  double bytes = 0;
  std::optional<double> iterations;
  std::optional<double> peak;     // in the unit of the table
  std::optional<double> average;  // likewise
  std::optional<double> million_messages;
  std::optional<double> typical_us;
  std::optional<double> average_us;
  std::optional<double> percentile_99_us;
};

enum class PerftestUnit { unknown, mebibytes, gigabits };

struct PerftestRun {
  std::string test;  // "RDMA_Write BW", as its banner or the command says
  std::string device;
  std::string connection;  // RC, UC, UD, SRD
  std::string link;        // IB, Ethernet
  std::optional<double> queue_pairs;
  std::string local;  // what tells the two ends apart: LID or GID, and queue pair
  std::string remote;
  std::string local_port;  // LID or GID alone
  std::string remote_port;
  bool bidirectional = false;
  bool no_peak = false;
  std::string gpu;  // whose memory was used; "GPU" where its name is not known
  PerftestUnit unit = PerftestUnit::unknown;
  std::vector<PerftestRow> rows;

  // Both ends are one port: nothing left the adapter.
  bool loopback() const;
  bool latency() const { return test.find("Lat") != std::string::npos; }
  bool efa() const;
};

// Whether one is what the other end of the same test printed.
bool other_end(const PerftestRun& one, const PerftestRun& other);

PerftestUnit perftest_unit(std::string_view text);

void report_perftest(Collected& collected, const PerftestRun& run);

}  // namespace claimcheck::importing
