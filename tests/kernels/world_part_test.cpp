// A part of a world is a world: numbering, what it says to all, and groups of its processes at work beside others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/kernels/collectives.h"
#include "tests/kernels/thread_world.h"

namespace claimcheck::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Duration soon{20};

// Six processes on three nodes; nodes 2 and 0 make a part, node 1 is one of its own.
TEST(WorldPart, NumbersItsProcessesAndNodesAnew) {
  test::play_processes({0, 0, 1, 1, 2, 2}, [](World& whole) {
    if (whole.node() == 1) {
      EXPECT_EQ(part_of(whole, {2, 3}, soon)->nodes(), 1);
      return;
    }
    const std::unique_ptr<World> part = part_of(whole, {4, 5, 0, 1}, soon);
    const std::array<int, 6> expected = {2, 3, -1, -1, 0, 1};
    EXPECT_EQ(part->process(), expected[static_cast<std::size_t>(whole.process())]);
    EXPECT_EQ(part->processes(), 4);
    EXPECT_EQ(part->nodes(), 2);
    EXPECT_EQ(part->node(), whole.node() == 2 ? 0 : 1);
    EXPECT_EQ(part->node_of(3), 1);
    EXPECT_EQ(part->local_process(), whole.local_process());
    EXPECT_EQ(part->local_processes(), 2);
  });
}

TEST(WorldPart, SaysThingsToAllOfItAndToNobodyElse) {
  test::play_processes({0, 1, 2, 3}, [](World& whole) {
    const bool even = whole.process() % 2 == 0;
    const std::unique_ptr<World> part = part_of(whole, even ? std::vector{0, 2} : std::vector{1, 3}, soon);
    for (int turn = 0; turn < 20; ++turn) {
      const std::string mine = std::to_string(whole.process()) + std::string(static_cast<std::size_t>(turn), 'x');
      const std::string tail(static_cast<std::size_t>(turn), 'x');
      EXPECT_THAT(part->gather(mine), even ? ElementsAre("0" + tail, "2" + tail) : ElementsAre("1" + tail, "3" + tail));
      EXPECT_EQ(part->max(-1.5 * whole.process()), even ? 0.0 : -1.5);
      int word = part->process() == 0 ? 100 * turn + whole.process() : -1;
      part->broadcast(std::as_writable_bytes(std::span(&word, 1)));
      EXPECT_EQ(word, 100 * turn + (even ? 0 : 1));
      part->barrier();
    }
  });
}

TEST(WorldPart, EndsAPhaseWithWhatEachSaid) {
  test::play_processes({0, 1}, [](World& whole) {
    const std::unique_ptr<World> part = part_of(whole, {0, 1}, soon);
    EXPECT_TRUE(part->end_phase(std::nullopt).empty());
    const PhaseReports reports = part->end_phase(whole.process() == 1 ? std::optional<std::string>("") : std::nullopt);
    EXPECT_THAT(reports, ElementsAre(std::nullopt, std::optional<std::string>("")));
  });
}

// Three pairs of nodes and then three others, all at once, with one or two ranks a process.
TEST(WorldPart, GroupsOfPartsWorkSideBySide) {
  test::play_processes({0, 1, 2, 3, 4, 5}, [](World& whole) {
    const int me = whole.process();
    const std::size_t local = me == 3 ? 2 : 1;
    for (const std::vector<int>& pairs : {std::vector{1, 0, 3, 2, 5, 4}, std::vector{5, 2, 1, 4, 3, 0}}) {
      const int other = pairs[static_cast<std::size_t>(me)];
      const std::unique_ptr<World> part = part_of(whole, {std::min(me, other), std::max(me, other)}, soon);
      test::collectives::Ranks ranks(local, *part);
      EXPECT_EQ(ranks.group->size(), me == 3 || other == 3 ? 3 : 2);
      for (const Collective collective : test::collectives::all_collectives)
        test::collectives::check(ranks, collective, DataType::fp32, 5003, false);
    }
  });
}

TEST(WorldPart, WaitsNoLongerThanItsDeadlineAndNamesWhoIsMissing) {
  test::play_processes({0, 1}, [](World& whole) {
    if (whole.process() == 0) {
      const std::unique_ptr<World> part = part_of(whole, {0, 1}, Duration(0.05));
      const Error error = test::error_of([&] { part->barrier(); });
      EXPECT_EQ(error.detail().outcome, Outcome::timed_out);
      EXPECT_TRUE(error.detail().context_dead);
      EXPECT_THAT(error.what(), HasSubstr("process 1 on node 1 did not come within 0.05 s"));
    }
    whole.barrier();
  });
}

TEST(WorldPart, IsMadeByItsMembersOnly) {
  World alone;
  EXPECT_THAT(test::error_of([&] { part_of(alone, {1, 2}, soon); }).what(), HasSubstr("that it is not in"));
}

}  // namespace
}  // namespace claimcheck::kernels
