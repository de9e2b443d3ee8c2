// fio.
#include "tests/unit/import_tools_support.h"

namespace claimcheck {
namespace {

using ::testing::HasSubstr;

class FioImport : public ToolImports {
 protected:
  static std::string job(const std::string& options, const std::string& read, const std::string& write = "",
                         const std::string& name = "job") {
    return R"({"jobname": ")" + name + R"(", "groupid": 0, "error": 0, "job options": {)" + options + "}" +
           (read.empty() ? "" : R"(, "read": )" + read) + (write.empty() ? "" : R"(, "write": )" + write) + "}";
  }
  static std::string document(const std::string& jobs, const std::string& version = "fio-3.36",
                              const std::string& global = R"("direct": "1", "iodepth": "32")") {
    return "{\n\"fio version\" : \"" + version + "\",\n\"global options\": {" + global + "},\n\"jobs\" : [" + jobs +
           "]\n}\n";
  }
  static std::string side(double bytes, double iops, double mean_ns) {
    return R"({"bw_bytes": )" + std::to_string(bytes) + R"(, "bw": )" + std::to_string(bytes / 1024) + R"(, "iops": )" +
           std::to_string(iops) + R"(, "total_ios": 1000, "clat_ns": {"mean": 1.0, "percentile": {"99.000000": 400000}},
           "lat_ns": {"mean": )" +
           std::to_string(mean_ns) + "}}";
  }
};

TEST_F(FioImport, BytesASecondAndNotKibibytes) {
  const auto imported = import(document(job(R"("rw": "read", "bs": "1m")", side(3.5e9, 3337.9, 9e6))));
  EXPECT_DOUBLE_EQ(*measurement(imported, "storage.read.gbps").value, 3.5);
  EXPECT_EQ(imported.document.system["software"]["fio"], "3.36");
}

TEST_F(FioImport, AJobIsKnownByRwAndBlockSizeNotByItsName) {
  const auto imported = import(document(
      job(R"("rw": "randrw", "bs": "4096")", side(4e8, 97656, 150000), side(2e8, 48828, 250000), "seq_write")));
  const Measurement reads = measurement(imported, "storage.random_read.iops");
  EXPECT_DOUBLE_EQ(*reads.value, 97656);
  EXPECT_EQ(reads.conditions["queue_depth"], 32.0);
  EXPECT_EQ(reads.conditions["mixed"], true);
  EXPECT_DOUBLE_EQ(reads.evidence["percentiles_us"]["p99"].get<double>(), 400);  // under clat_ns here
  EXPECT_DOUBLE_EQ(*measurement(imported, "storage.random_read.latency.us").value, 150);
  EXPECT_DOUBLE_EQ(*measurement(imported, "storage.random_write.latency.us").value, 250);
}

TEST_F(FioImport, JobsOfOneNameAreOneAndTheirRatesAddUp) {
  const std::string one = job(R"("rw": "randread", "bs": "4k")", side(1e8, 24414, 100000));
  const std::string two = job(R"("rw": "randread", "bs": "4k")", side(3e8, 73242, 300000));
  const auto imported = import(document(one + "," + two));
  EXPECT_DOUBLE_EQ(*measurement(imported, "storage.random_read.iops").value, 97656);
  EXPECT_DOUBLE_EQ(*measurement(imported, "storage.random_read.latency.us").value, 200);  // as many operations each
}

TEST_F(FioImport, ThroughThePageCacheIsNoRateOfTheDevice) {
  const auto imported =
      import(document(job(R"("rw": "read", "bs": "1m")", side(9e9, 8583, 1e5)), "fio-3.36", R"("iodepth": "1")"));
  const Measurement rate = measurement(imported, "storage.read.gbps");
  EXPECT_EQ(rate.status, Outcome::failed);
  EXPECT_THAT(rate.reason, HasSubstr("page cache"));
  EXPECT_DOUBLE_EQ(rate.evidence["through_page_cache"].get<double>(), 9.0);
}

TEST_F(FioImport, OtherBlocksAreSaidAndNotMeasured) {
  const auto imported = import(document(job(R"("rw": "randread", "bs": "16k")", side(1.6e9, 97656, 1e5))));
  EXPECT_TRUE(imported.document.measurements.empty());
  EXPECT_THAT(notes(imported), HasSubstr("random read of 16 KiB: 1.60 GB/s, 97660 IOPS"));
}

TEST_F(FioImport, ErrorsDoNotCount) {
  std::string text = document(job(R"("rw": "read", "bs": "1m")", side(3e9, 2861, 1e6)));
  text.replace(text.find("\"error\": 0"), 10, "\"error\": 28");
  const auto imported = import(text);
  EXPECT_EQ(measurement(imported, "storage.read.gbps").status, Outcome::failed);
  EXPECT_THAT(finding(imported, "import.fio_error").text, HasSubstr("error 28"));
}

TEST_F(FioImport, Version2HasKibibytesAndMicroseconds) {
  const std::string side_2 =
      R"({"bw": 100000, "iops": 25000.0, "total_ios": 9, "lat": {"mean": 640.5}, "clat": {"percentile": {"99.000000": 900}}})";
  const auto imported = import(document(job(R"("rw": "randread", "bs": "4k")", side_2), "fio-2.16"));
  const Measurement reads = measurement(imported, "storage.random_read.iops");
  EXPECT_DOUBLE_EQ(reads.evidence["bytes_per_second"].get<double>(), 102400000);
  EXPECT_DOUBLE_EQ(reads.evidence["percentiles_us"]["p99"].get<double>(), 900);
  EXPECT_DOUBLE_EQ(*measurement(imported, "storage.random_read.latency.us").value, 640.5);
}

TEST_F(FioImport, TheSumOfAllClientsIsNotAddedAgain) {
  const auto host = [&](const std::string& name) {
    std::string one = job(R"("rw": "read", "bs": "4m", "direct": "1")", side(2e9, 476, 1e6));
    return one.replace(0, 1, R"({"hostname": ")" + name + "\", ");
  };
  const std::string all =
      R"({"jobname": "All clients", "groupid": 0, "error": 0, "read": )" + side(4e9, 953, 1e6) + "}";
  const auto imported = import(
      "hostname=disk-a, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.28, flags=1\n<disk-a> engine: ready\n"
      "Jobs: 2 (f=2): [R(1)] [100.0% done]\nDisk stats (read/write):\n\n{\n\"fio version\": \"fio-3.28\", "
      "\"client_stats\": [" +
      host("disk-a") + "," + host("disk-b") + "," + all + "]}\n");
  ASSERT_EQ(imported.document.measurements.size(), 1U);
  EXPECT_DOUBLE_EQ(*imported.document.measurements[0].value, 4.0);
  EXPECT_EQ(imported.files.front().not_understood, 0U);
}

TEST_F(FioImport, ACutDocumentIsSaid) {
  const auto imported = import("hostname=disk-a, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-2.9, flags=1\n{\n");
  EXPECT_THAT(partial(imported), HasSubstr("cut off"));
  EXPECT_EQ(imported.document.system["software"]["fio"], "2.9");
}

}  // namespace
}  // namespace claimcheck
