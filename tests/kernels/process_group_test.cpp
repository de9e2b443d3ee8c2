// Groups of several processes, played by threads that share nothing but what processes share: through the memory of a
// node, and by messages between nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "kernels/host/process_memory.h"
#include "kernels/host/shared_segment.h"
#include "kernels/launch.h"
#include "kernels/node_share.h"
#include "tests/kernels/collectives.h"
#include "tests/kernels/thread_world.h"

namespace claimcheck::kernels {
namespace {

using testing::HasSubstr;

struct Shape {
  std::string name;
  std::vector<int> nodes;          // of each process
  std::vector<std::size_t> ranks;  // of each process
  std::string transport;
  bool staged = false;  // as where Linux does not let processes read each other's memory
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class ProcessGroupTest : public testing::TestWithParam<Shape> {};

std::string fact(const Group& group, std::string_view wanted) {
  for (const auto& [name, value] : group.facts())
    if (name == wanted && std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
  return {};
}

// 300000 values of fp64 take several slots of a rank, and many turns of them; or go straight, as more than 128 KiB do.
TEST_P(ProcessGroupTest, CollectivesMatchTheirDefinitions) {
  const Shape& shape = GetParam();
  if (shape.staged) setenv("CLAIMCHECK_STAGED", "1", 1);
  int all = 0;
  for (const std::size_t ranks : shape.ranks) all += static_cast<int>(ranks);
  test::play_processes(shape.nodes, [&](World& world) {
    test::collectives::Ranks ranks(shape.ranks[static_cast<std::size_t>(world.process())], world);
    EXPECT_EQ(ranks.group->size(), all);
    if (world.nodes() == 1) {
      EXPECT_EQ(fact(*ranks.group, "algorithm"), shape.staged ? "staged" : "direct; staged below 128 KiB");
    }
    EXPECT_THAT(fact(*ranks.group, "transport"), HasSubstr(shape.transport));
    for (const Collective collective : test::collectives::all_collectives)
      for (const auto& [type, count] : std::vector<std::pair<DataType, std::size_t>>{{DataType::fp64, 1},
                                                                                     {DataType::bf16, 7},
                                                                                     {DataType::int8, 2501},
                                                                                     {DataType::fp32, 30003},
                                                                                     {DataType::fp64, 300000}})
        for (const bool in_place : {false, true}) {
          if (in_place && !test::collectives::extents_of(collective, 2).may_be_in_place) continue;
          SCOPED_TRACE(std::string(to_string(collective)) + " of " + std::to_string(count) + " " +
                       std::string(to_string(type)) + (in_place ? " in place" : ""));
          test::collectives::check(ranks, collective, type, count, in_place);
        }
  });
  unsetenv("CLAIMCHECK_STAGED");
}

INSTANTIATE_TEST_SUITE_P(Shapes, ProcessGroupTest,
                         testing::Values(Shape{"OneNodeTwo", {0, 0}, {1, 1}, "shared memory between processes"},
                                         Shape{"OneNodeUneven", {0, 0}, {1, 2}, "shared memory between processes"},
                                         Shape{"Staged", {0, 0}, {1, 2}, "shared memory between processes", true},
                                         Shape{"TwoNodes", {0, 1}, {1, 1}, "MPI"},
                                         Shape{"TwoNodesUneven", {0, 0, 1}, {1, 1, 2}, "MPI"}),
                         [](const auto& one) { return one.param.name; });

TEST(ProcessGroup, ARankOfAnotherProcessThatNeverComesEndsTheWaitOfBoth) {
  test::play_processes({0, 0}, [](World& world) {
    test::collectives::Ranks ranks(1, world);
    const auto buffer = ranks.devices[0]->allocate(64);
    const std::vector<Group::Buffers> buffers = {{*buffer, *buffer}};
    if (world.process() == 0) {
      ranks.group->enqueue(Collective::all_reduce, buffers, 8, DataType::fp64, ranks.stream_pointers);
      const Error error = test::error_of([&] { ranks.group->wait(ranks.stream_pointers, Duration(0.05)); });
      EXPECT_EQ(error.detail().outcome, Outcome::timed_out);
    }
    world.barrier();
    if (world.process() == 1) {
      // The sign to give up is there already: this one does not wait for its own deadline.
      ranks.group->enqueue(Collective::all_reduce, buffers, 8, DataType::fp64, ranks.stream_pointers);
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 4; ++i)
        ranks.group->enqueue(Collective::all_reduce, buffers, 8, DataType::fp64, ranks.stream_pointers);
      const Error error = test::error_of([&] { ranks.group->wait(ranks.stream_pointers, test::patience); });
      EXPECT_EQ(error.detail().outcome, Outcome::timed_out);
      EXPECT_LT(Duration(std::chrono::steady_clock::now() - start).count(), 20.0);
    }
    world.barrier();
  });
}

TEST(ProcessGroup, MemoryOfAProcessIsReadAsFarAsItIsThere) {
  std::vector<std::byte> source(100000, std::byte{7});
  std::vector<std::byte> target(source.size());
  host::read_memory_of(getpid(), target.data(), source.data(), source.size());
  EXPECT_EQ(target, source);
  EXPECT_TRUE(host::can_read(getpid(), source.data()));
  EXPECT_FALSE(host::can_read(getpid(), nullptr));
  EXPECT_THAT(test::error_of([&] { host::read_memory_of(getpid(), target.data(), nullptr, 8); }).what(),
              HasSubstr("EFAULT"));
}

// More than the whole of /dev/shm is refused at once, before anything is taken of it.
TEST(ProcessGroup, TooLittleSharedMemoryIsSaid) {
  struct statvfs space {};
  ASSERT_EQ(statvfs("/dev/shm", &space), 0);
  if (space.f_blocks == 0) GTEST_SKIP() << "/dev/shm has no limit here";
  World world;
  const std::size_t more = space.f_blocks * space.f_frsize + (std::size_t{1} << 20);
  host::SharedSegment segment(world, more);
  const Error error = test::error_of([&] { segment.reserve(0, more); });
  EXPECT_THAT(error.what(), HasSubstr("/dev/shm is too small"));
  EXPECT_THAT(error.what(), HasSubstr("--shm-size"));
}

Launch launch_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  return read_launch([&](const char* name) -> const char* {
    for (const auto& [known, value] : variables)
      if (known == name) return value.c_str();
    return nullptr;
  });
}

TEST(Launch, IsReadFromWhatEachLauncherSets) {
  EXPECT_FALSE(launch_with({}).several());
  EXPECT_FALSE(launch_with({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}).several());
  const Launch open_mpi =
      launch_with({{"OMPI_COMM_WORLD_SIZE", "16"}, {"OMPI_COMM_WORLD_RANK", "9"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  EXPECT_TRUE(open_mpi.several());
  EXPECT_EQ(open_mpi.launcher, "Open MPI");
  EXPECT_EQ(open_mpi.processes, 16);
  EXPECT_EQ(open_mpi.process, 9);
  EXPECT_EQ(open_mpi.local_process, 1);
  EXPECT_TRUE(launch_with({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}).several());
  EXPECT_TRUE(launch_with({{"PMIX_RANK", "0"}}).several());
}

TEST(Launch, ASlurmBatchScriptIsOneProcessAndAStepMaybeMany) {
  EXPECT_FALSE(launch_with({{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}).several());
  EXPECT_TRUE(launch_with({{"SLURM_STEP_NUM_TASKS", "16"}, {"SLURM_PROCID", "3"}, {"SLURM_LOCALID", "3"}}).several());
  EXPECT_FALSE(launch_with({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}}).connected);
  EXPECT_TRUE(launch_with({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}}).connected);
  // PMIx alone does not say how many there are; Slurm does.
  EXPECT_FALSE(launch_with({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}).several());
}

TEST(Launch, WhatIsNoNumberIsNotThere) {
  EXPECT_FALSE(launch_with({{"OMPI_COMM_WORLD_SIZE", "many"}, {"OMPI_COMM_WORLD_RANK", "0"}}).several());
  EXPECT_FALSE(launch_with({{"PMIX_RANK", "-1"}}).several());
}

TEST(NodeShare, WhatProcessesSeeIsCompared) {
  const auto sights = [](const std::vector<std::vector<std::string>>& seen, const std::vector<int>& nodes) {
    std::vector<Sight> result(nodes.size());
    test::play_processes(nodes, [&](World& world) {
      const auto me = static_cast<std::size_t>(world.process());
      result[me] = compare_sights(world, seen[me]);
    });
    return result;
  };
  EXPECT_THAT(sights({{"0", "1"}, {"0", "1"}}, {0, 0}), testing::Each(Sight::same));
  EXPECT_THAT(sights({{"0"}, {"1"}}, {0, 0}), testing::Each(Sight::apart));
  EXPECT_THAT(sights({{"0", "1"}, {"1", "2"}}, {0, 0}), testing::Each(Sight::mixed));
  EXPECT_THAT(sights({{"0"}, {"0"}}, {0, 1}), testing::Each(Sight::alone));
}

TEST(NodeShare, DealsOutEvenly) {
  EXPECT_EQ(dealt_out(8, 0, 8), std::pair(0, 1));
  EXPECT_EQ(dealt_out(8, 7, 8), std::pair(7, 1));
  EXPECT_EQ(dealt_out(8, 1, 2), std::pair(4, 4));
  EXPECT_EQ(dealt_out(5, 0, 2), std::pair(0, 2));
  EXPECT_EQ(dealt_out(5, 1, 2), std::pair(2, 3));
  EXPECT_EQ(dealt_out(1, 0, 2).second + dealt_out(1, 1, 2).second, 1);
}

}  // namespace
}  // namespace claimcheck::kernels
