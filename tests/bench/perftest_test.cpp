// perftest's command lines and tables, its ports in a made-up /sys, and a program that is stopped.
#include "bench/perftest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include "bench/child_process.h"
#include "bench/rail_run.h"

namespace claimcheck::bench {

void PrintTo(const RdmaPort& port, std::ostream* out) { *out << port.device << ':' << port.port; }

namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const RdmaPort port{.device = "mlx5_3", .port = 2, .fabric = "infiniband", .line_gbit_s = 400};

TEST(Perftest, ServerAndClientDifferByTheAddressOnly) {
  std::vector<std::string> server = perftest_arguments(RdmaTest::write, port, 18520, {});
  EXPECT_THAT(server, ElementsAre("ib_write_bw", "-d", "mlx5_3", "-i", "2", "-p", "18520", "-F", "-s", "1048576", "-n",
                                  "5000", "--report_gbits"));
  server.push_back("node7");
  EXPECT_EQ(perftest_arguments(RdmaTest::write, port, 18520, "node7"), server);
}

TEST(Perftest, AdaptersOfAwsWantTheirDatagrams) {
  RdmaPort efa = port;
  efa.fabric = "efa";
  EXPECT_THAT(perftest_arguments(RdmaTest::read, efa, 1, {}), Contains("SRD"));
  EXPECT_THAT(perftest_arguments(RdmaTest::read, port, 1, {}), Not(Contains("SRD")));
  EXPECT_THAT(perftest_arguments(RdmaTest::send_latency, port, 1, {}), Not(Contains("--report_gbits")));
}

constexpr const char* facts_of_a_run =
    "---------------------------------------------------------------------------------------\n"
    "                    RDMA_Write BW Test\n"
    " Dual-port       : OFF\t\tDevice         : mlx5_3\n"
    " Mtu             : 4096[B]\n"
    " local address: LID 0x01 QPN 0x0087 PSN 0x176d37 RKey 0x00012d VAddr 0x007f5f0093f000\n";

std::string table(const std::string& heading, const std::string& row) {
  return std::string(facts_of_a_run) + heading + row + std::string(80, '-') + "\n";
}

constexpr const char* gigabits = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";
constexpr const char* megabytes = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n";
constexpr const char* times =
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
    "percentile[usec]   99.9% percentile[usec] \n";

// 391.2 Gb/s are 48.9 GB/s; its MB are 2^20 bytes.
TEST(Perftest, TheAverageIsReadInTheUnitOfTheHeading) {
  const std::string row = " 1048576    5000             394.65             391.20             0.0466\n";
  EXPECT_DOUBLE_EQ(parse_perftest(RdmaTest::write, 0, table(gigabits, row), ""), 48.9);
  EXPECT_DOUBLE_EQ(
      parse_perftest(RdmaTest::read, 0, table(megabytes, " 1048576  5000  47000.1  46000.00  0.0460\n"), ""),
      46000 * 1048576.0 / 1e9);
}

TEST(Perftest, TheTypicalTimeIsRead) {
  const std::string row =
      " 2       1000          1.02           4.81         1.08                1.09             0.05    1.2  3.1\n";
  EXPECT_DOUBLE_EQ(parse_perftest(RdmaTest::send_latency, 0, table(times, row), ""), 1.08);
}

TEST(Perftest, WhatIsNoFigureIsNotTakenForOne) {
  const auto failure_of = [](int code, const std::string& output, const std::string& errors) {
    try {
      parse_perftest(RdmaTest::write, code, output, errors);
    } catch (const kernels::Error& error) {
      return std::string(kernels::to_string(error.detail().outcome)) + ": " + error.what();
    }
    return std::string("a figure");
  };
  const std::string whole =
      table(gigabits, " 1048576    5000             394.65             391.20             0.0466\n");
  EXPECT_EQ(failure_of(0, whole, ""), "a figure");
  EXPECT_THAT(failure_of(1, whole, " Failed to complete run\n"), HasSubstr("ended with 1: Failed to complete run"));
  EXPECT_THAT(failure_of(1, "", " Unable to find the Infiniband/RoCE device\n"),
              HasSubstr("ib_write_bw ended with 1: Unable to find the Infiniband/RoCE device"));
  EXPECT_THAT(failure_of(0, table(gigabits, " 1048576 5000 0.00 0.00 0.0\n"), ""), HasSubstr("gave no figure"));
  EXPECT_THAT(failure_of(0, table(gigabits, " 1048576 5000 0.00 nan 0.0\n"), ""), HasSubstr("gave no figure"));
  EXPECT_THAT(failure_of(0, table(times, " 2 1000 1.02 4.81 1.08\n"), ""), HasSubstr("gave no figure"));
  EXPECT_THAT(failure_of(137, "", ""), HasSubstr("ended with 137: it said nothing"));
  EXPECT_THAT(failure_of(1, "", " SRD connection only possible in SEND/READ verbs\n"),
              AllOf(HasSubstr("unsupported: "), HasSubstr("install a newer perftest")));
  // Cut off at every byte before the last number of its line.
  for (std::size_t size = 0; size <= whole.find("0.0466"); ++size)
    EXPECT_THAT(failure_of(0, whole.substr(0, size), ""), HasSubstr("gave no figure")) << whole.substr(0, size);
}

class RdmaPorts : public testing::Test {
 protected:
  RdmaPorts() : root_(fs::temp_directory_path() / ("claimcheck-rdma-" + std::to_string(getpid()))) {}
  ~RdmaPorts() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void add(const std::string& device, int number, const std::string& state, const std::string& layer,
           const std::string& rate) {
    const fs::path folder = root_ / "sys/class/infiniband" / device / "ports" / std::to_string(number);
    fs::create_directories(folder);
    std::ofstream(folder / "state") << state << '\n';
    std::ofstream(folder / "link_layer") << layer << '\n';
    if (!rate.empty()) std::ofstream(folder / "rate") << rate << '\n';
  }

  fs::path root_;
};

TEST_F(RdmaPorts, ActiveOnesWithTheirFabricAndLineRate) {
  EXPECT_THAT(rdma_ports(root_), IsEmpty());
  add("mlx5_1", 1, "4: ACTIVE", "InfiniBand", "400 Gb/sec (4X NDR)");
  add("mlx5_0", 2, "1: DOWN", "InfiniBand", "10 Gb/sec (4X SDR)");
  add("mlx5_0", 1, "4: ACTIVE", "Ethernet", "100 Gb/sec (4X EDR)");
  add("rdmap16s27", 1, "4: ACTIVE", "Unspecified", "");
  fs::create_directories(root_ / "sys/class/infiniband/rdmap16s27/device");
  fs::create_symlink("../../../../bus/pci/drivers/efa", root_ / "sys/class/infiniband/rdmap16s27/device/driver");
  EXPECT_THAT(rdma_ports(root_),
              ElementsAre(RdmaPort{"mlx5_0", 1, "roce", 100}, RdmaPort{"mlx5_1", 1, "infiniband", 400},
                          RdmaPort{"rdmap16s27", 1, "efa", 0}));
}

TEST(ChildProcess, IsKilledWhenItIsToStop) {
  std::stop_source stop;
  const auto start = std::chrono::steady_clock::now();
  stop.request_stop();
  const ProgramResult result = run_program({"sleep", "60"}, kernels::Duration(50), stop.get_token());
  EXPECT_EQ(result.exit_code, 128 + 9);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(RailRounds, EveryNodeHasAPartner) {
  for (int nodes = 2; nodes < 20; ++nodes) {
    std::vector<int> met(static_cast<std::size_t>(nodes), 0);
    const auto rounds = rail_rounds(nodes);
    EXPECT_EQ(static_cast<int>(rounds.size()), 1 + nodes % 2);
    for (const auto& round : rounds)
      for (const NodePair& pair : round) {
        EXPECT_LT(pair.first, pair.second);
        ++met[static_cast<std::size_t>(pair.first)];
        ++met[static_cast<std::size_t>(pair.second)];
      }
    EXPECT_THAT(met, testing::Each(testing::Ge(1)));
  }
}

}  // namespace
}  // namespace claimcheck::bench
