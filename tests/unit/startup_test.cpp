// From the start of the machine to a machine that is ready, by clocks of a fabricated machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/evidence/derived.h"
#include "harness/judge/claim.h"
#include "harness/judge/judge.h"
#include "tests/unit/fabricated_machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr long booted = 1764500000;

// Up for `up`, cloud-init done 95.25 s after the boot, the driver loaded 120 s after it.
FabricatedMachine& booted_machine(FabricatedMachine& machine, const std::string& up) {
  machine.file("proc/uptime", up + " 12345.67\n")
      .file("proc/stat", "cpu  1 0 1 100 0 0 0 0 0 0\nbtime " + std::to_string(booted) + "\n")
      .file("proc/self/mounts", "/dev/root / ext4 rw 0 0\n")
      .file("run/cloud-init/status.json",
            R"({"v1": {"datasource": "DataSourceEc2Local", "stage": null,
                "init": {"errors": [], "start": 1764500009.0, "finished": 1764500011.5},
                "modules-final": {"errors": [], "start": 1764500094.0, "finished": 1764500095.25}}})")
      .file("dev/nvidiactl", "");
  const timespec made[2] = {{booted + 120, 0}, {booted + 120, 0}};
  EXPECT_EQ(::utimensat(AT_FDCWD, (machine.root() / "dev/nvidiactl").c_str(), made, 0), 0);
  return machine;
}

TEST(Startup, OfAFreshMachine) {
  FabricatedMachine machine;
  const json startup = booted_machine(machine, "300.50").system().at("startup");
  EXPECT_EQ(startup.at("since"), "boot");
  EXPECT_EQ(startup.at("up_seconds"), 300.5);
  EXPECT_EQ(startup.at("first_benchmark_seconds"), 300.5);
  EXPECT_EQ(startup.at("cloud_init"), (json{{"status", "done"}, {"finished_seconds", 95.25}, {"errors", 0}}));
  EXPECT_EQ(startup.at("driver_seconds"), 120);
  EXPECT_EQ(startup.at("ready_seconds"), 120) << "the later of cloud-init and the driver";
}

TEST(Startup, AnUptimeOfDaysIsNoStartUpTime) {
  FabricatedMachine machine;
  const json startup = booted_machine(machine, "250000.00").system().at("startup");
  EXPECT_EQ(startup.at("up_seconds"), 250000);
  EXPECT_TRUE(startup.at("first_benchmark_seconds").is_null());
  EXPECT_THAT(startup.at("reason").get<std::string>(), HasSubstr("no start-up time"));
  EXPECT_EQ(startup.at("ready_seconds"), 120) << "known however long ago it was";
}

TEST(Startup, CloudInitAtWorkOrWithErrors) {
  FabricatedMachine machine;
  booted_machine(machine, "50")
      .file("run/cloud-init/status.json",
            R"({"v1": {"stage": "modules-final", "modules-final": {"errors": [], "finished": null}}})");
  json system = machine.system();
  EXPECT_TRUE(system.at("startup").at("ready_seconds").is_null());
  EXPECT_EQ(system.at("startup").at("ready_reason"), "cloud-init was still at work");
  std::vector<Finding> findings = system_findings(system);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "startup.running");
  machine.file("run/cloud-init/status.json",
               R"({"v1": {"init": {"errors": ["a"]}, "modules-final": {"errors": ["b"], "finished": 1764500040}}})");
  findings = system_findings(machine.system());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "startup.errors");
  EXPECT_EQ(findings[0].evidence.at("errors"), 2);
}

TEST(Startup, AClockThatWasSetTellsNothing) {
  for (const char* finished : {"1764499000", "1764509000"}) {
    FabricatedMachine machine;
    booted_machine(machine, "300")
        .file("run/cloud-init/status.json",
              std::string(R"({"v1": {"modules-final": {"errors": [], "finished": )") + finished + "}}}");
    EXPECT_TRUE(machine.system().at("startup").at("ready_seconds").is_null()) << finished;
    EXPECT_EQ(machine.system().at("startup").at("ready_reason"), "the clock was set since");
  }
}

TEST(Startup, AContainerIsCountedFromItsFirstProcess) {
  FabricatedMachine machine;
  const long ticks = ::sysconf(_SC_CLK_TCK);
  booted_machine(machine, "250000.00")
      .file(".dockerenv", "")
      .file("proc/1/stat", "1 (a (b) c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " +
                               std::to_string(249900 * ticks) + " 1000 200\n");
  const json startup = machine.system().at("startup");
  EXPECT_EQ(startup.at("since"), "container");
  EXPECT_EQ(startup.at("first_benchmark_seconds"), 100);
  EXPECT_TRUE(startup.at("ready_seconds").is_null());
  for (const char* odd : {"", "1 (a) S", "1 a S 0", "1 (a) S 0 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 x 1\n"}) {
    machine.file("proc/1/stat", odd);
    EXPECT_TRUE(machine.system().at("startup").at("up_seconds").is_null()) << odd;
  }
}

TEST(Startup, OddClocks) {
  for (const char* odd : {"", "x", "-1 0", "nan 0", "1e999 0", "inf"}) {
    FabricatedMachine machine;
    machine.file("proc/uptime", odd).file("proc/self/mounts", "/dev/root / ext4 rw 0 0\n");
    const json startup = machine.system().at("startup");
    EXPECT_TRUE(startup.at("up_seconds").is_null()) << odd;
    EXPECT_EQ(startup.at("reason"), "no clock tells when it started");
  }
}

TEST(Startup, IsAMetricThatCanBeClaimed) {
  FabricatedMachine machine;
  Document document;
  document.system = booted_machine(machine, "300.50").system();
  const auto claims =
      parse_claims({"startup.boot_to_ready.seconds<=2.1 min", "startup.boot_to_first_benchmark.seconds<=240 s"});
  derive(document, Catalog{});
  derive(document, Catalog{});  // again replaces
  EXPECT_EQ(document.measurements.size(), 2u);
  std::vector<Verdict> verdicts = judge(document, claims, Catalog{});
  EXPECT_EQ(verdicts[0].kind, VerdictKind::met);
  EXPECT_EQ(verdicts[1].kind, VerdictKind::not_met);
  EXPECT_EQ(verdicts[1].attained, 300.5);
  document.system = booted_machine(machine, "250000").system();
  derive(document, Catalog{});
  verdicts = judge(document, claims, Catalog{});
  EXPECT_EQ(verdicts[1].kind, VerdictKind::not_measured);
  EXPECT_THAT(verdicts[1].reason, HasSubstr("up for more than an hour"));
}

}  // namespace
}  // namespace claimcheck
