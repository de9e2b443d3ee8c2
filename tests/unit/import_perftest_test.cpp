// perftest: units, peaks that were not measured, loopbacks and both directions.
#include "tests/unit/import_tools_support.h"

namespace claimcheck {
namespace {

using ::testing::HasSubstr;

class PerftestImport : public ToolImports {
 protected:
  static std::string banner(const std::string& test, const std::string& device = "mlx5_4") {
    return "---------------------------------------------------------------------------------------\n"
           "                    " +
           test + "\n Dual-port       : OFF\t\tDevice         : " + device +
           "\n Number of qps   : 1\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n"
           " TX depth        : 128\n Mtu             : 4096[B]\n Link type       : IB\n";
  }
  static std::string ends(const std::string& local, const std::string& remote) {
    return " local address: LID " + local + " QPN 0x0011 PSN 0x1\n remote address: LID " + remote +
           " QPN 0x0022 PSN 0x2\n";
  }
  static constexpr const char* mebibytes =
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n";
  static constexpr const char* gigabits =
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";
};

TEST_F(PerftestImport, MegabytesAreOfTwoToTheTwentieth) {
  const auto imported = import(banner("RDMA_Write BW Test") + ends("0x1a", "0x1b") + mebibytes +
                               " 1048576    5000     11000.50    10000.00   0.010000\n");
  const Measurement rate = measurement(imported, "network.ib.gbps");
  ASSERT_TRUE(rate.value.has_value());
  EXPECT_DOUBLE_EQ(*rate.value, 10.48576);
  EXPECT_EQ(rate.conditions["adapter"], "mlx5_4");
  EXPECT_EQ(rate.conditions["memory"], "host");
  EXPECT_EQ(imported.files.front().not_understood, 0U);
}

TEST_F(PerftestImport, TheHeaderSaysTheUnit) {
  const auto imported = import(banner("RDMA_Read BW Test") + gigabits + " 65536 5000 390.10 388.00 0.740000\n");
  EXPECT_DOUBLE_EQ(*measurement(imported, "network.ib.read.gbps").value, 48.5);
}

TEST_F(PerftestImport, LoopbackIsNoNetworkMeasurementAndCountsOnce) {
  const std::string table = std::string(mebibytes) + " 8388608 2000 24000.00 23000.00 0.002875\n";
  std::string other = ends("0x1a", "0x1a");
  const std::string client =
      banner("RDMA_Write BW Test") +
      " local address: LID 0x1a QPN 0x0011 PSN 0x1\n remote address: LID 0x1a QPN 0x0022 PSN 0x2\n";
  const std::string server =
      banner("RDMA_Write BW Test") +
      " local address: LID 0x1a QPN 0x0022 PSN 0x2\n remote address: LID 0x1a QPN 0x0011 PSN 0x1\n";
  const auto imported = import(client + table + "* Waiting for client to connect... *\n" + server + table);
  ASSERT_EQ(imported.document.measurements.size(), 1U);
  const Measurement& rate = imported.document.measurements[0];
  EXPECT_EQ(rate.status, Outcome::unsupported);
  EXPECT_THAT(rate.reason, HasSubstr("loopback"));
  EXPECT_NEAR(rate.evidence["loopback_value"].get<double>(), 24.117248, 1e-9);
  EXPECT_NEAR(rate.evidence["gbit_per_second"].get<double>(), 192.937984, 1e-9);
  EXPECT_THAT(notes(imported), HasSubstr("counted once"));
}

TEST_F(PerftestImport, DurationModeHasNoPeakAndBothDirectionsAreHalved) {
  const auto imported =
      import(" WARNING: BW peak won't be measured in this run.\n" + banner("RDMA_Write Bidirectional BW Test") +
             gigabits + " 65536      1200000          0.00               180.00   0.343323\n");
  const Measurement rate = measurement(imported, "network.ib.gbps");
  EXPECT_DOUBLE_EQ(*rate.value, 11.25);
  EXPECT_EQ(rate.conditions["bidirectional"], true);
  EXPECT_DOUBLE_EQ(rate.evidence["both_directions_gbps"].get<double>(), 22.5);
  EXPECT_FALSE(rate.evidence.contains("peak_gbps"));
  EXPECT_THAT(notes(imported), HasSubstr("peak was not measured"));
}

TEST_F(PerftestImport, GpuMemoryIsTheRateOfARail) {
  const auto imported =
      import("initializing CUDA\nPicking device No. 3\n[pid = 12, dev = 3] device name = [NVIDIA L40]\n" +
             banner("RDMA_Write BW Test") + mebibytes + " 33554432 1000 9000.00 8000.00 0.000250\n");
  const Measurement rate = measurement(imported, "network.rail.gbps");
  EXPECT_NEAR(*rate.value, 8.388608, 1e-9);
  EXPECT_EQ(rate.conditions["gpu"], "NVIDIA L40");
  EXPECT_EQ(imported.document.system["devices"][0]["index"], 3);
  EXPECT_THAT(finding(imported, "import.gpudirect").next_step, HasSubstr("PIX"));
}

TEST_F(PerftestImport, LatencyIsTheTypicalOfSends) {
  const std::string header =
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
      "percentile[usec]   99.9% percentile[usec]\n";
  const auto imported =
      import(banner("Send Latency Test") + header +
             " 2       1000          1.10           9.00         1.25     	     1.30        	0.10	"
             "	2.20 5.00\n" +
             banner("RDMA_Write Latency Test") + header + " 2 1000 0.90 4.00 1.00 1.05 0.10 1.50 3.00\n");
  const Measurement latency = measurement(imported, "network.ib.latency.us");
  EXPECT_DOUBLE_EQ(*latency.value, 1.25);
  EXPECT_DOUBLE_EQ(latency.evidence["p99_us"].get<double>(), 2.2);
  EXPECT_EQ(imported.document.measurements.size(), 1U);
  EXPECT_THAT(notes(imported), HasSubstr("RDMA_Write Latency of 2 B: 1.00 us"));
}

TEST_F(PerftestImport, EfaIsKnownByItsDatagrams) {
  std::string text = banner("RDMA_Write BW Test", "rdmap0s31") + gigabits + " 1048576 5000 0.00 96.00 0.011444\n";
  text.replace(text.find(": RC"), 4, ": SRD");
  EXPECT_DOUBLE_EQ(*measurement(import(text), "network.efa.gbps").value, 12.0);
}

TEST_F(PerftestImport, BannerWithoutResultSaysSo) {
  const auto imported = import(banner("RDMA_Write BW Test"));
  EXPECT_THAT(finding(imported, "import.no_result").text, HasSubstr("RDMA_Write BW on mlx5_4"));
  EXPECT_TRUE(imported.document.measurements.empty());
}

TEST_F(PerftestImport, JsonTellsItsUnitByTheRateOfMessages) {
  const auto json = [](const std::string& average) {
    return R"({"test_info": {"test": "RDMA_Write BW Test", "Device": "mlx5_0", "Connection_type": "RC", "Link_type": "Ethernet"},
               "results": {"MsgSize": 65536, "n_iterations": 5000, "BW_peak": 0.0, "BW_average": )" +
           average + R"(, "MsgRate": 0.190735}})";
  };
  // 0.190735e6 messages of 65536 bytes: 12.5 GB/s, which is 100 Gb/s or 11921 MiB/s.
  EXPECT_NEAR(*measurement(import(json("100.0")), "network.ib.gbps").value, 12.5, 1e-9);
  EXPECT_NEAR(*measurement(import(json("11920.93")), "network.ib.gbps").value, 12.5, 1e-4);
}

TEST_F(PerftestImport, AnyBeginningIsRead) {
  expect_any_beginning_is_read(banner("RDMA_Write BW Test") + ends("0x1", "0x2") + mebibytes +
                               " 65536 5000 11000.00 10000.00 0.16\n");
}

}  // namespace
}  // namespace claimcheck
