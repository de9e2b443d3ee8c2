// Which ranks of which processes take part where only some do, and who of them is slowest.
#include "bench/participants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/fake_gpu.h"

namespace claimcheck::bench {
namespace {

using nlohmann::json;
using testing::ElementsAre;

// Four processes of three ranks each, two on each of two nodes. What the others say is given, or as this one says it.
class Four : public kernels::World {
 public:
  explicit Four(int process) : process_(process) {}
  int process() const override { return process_; }
  int processes() const override { return 4; }
  int nodes() const override { return 2; }
  int node_of(int process) const override { return process / 2; }
  std::vector<std::string> gather(const std::string& mine) override {
    if (said.empty()) return {4, mine};
    std::vector<std::string> all = said;
    all[static_cast<std::size_t>(process_)] = mine;
    return all;
  }

  std::vector<std::string> said;

 private:
  int process_;
};

struct Session {
  explicit Session(int process) : world(process) {
    options.processes = 4;
    options.nodes = 2;
  }
  Participants first(std::size_t count) { return first_ranks(setting, count); }

  test::FakePlatform platform{test::FakeOptions{.devices = 3}};
  Four world;
  Options options;
  Case chosen;
  std::shared_ptr<kernels::Group> group;
  Setting setting{platform, world, options, chosen, group};
};

TEST(Participants, AreTheFirstInProcessOrder) {
  const Participants most = Session(1).first(5);
  EXPECT_EQ(most.here.size(), 2U);
  EXPECT_EQ(most.first, 3U);
  EXPECT_EQ(most.processes, 2);
  EXPECT_EQ(most.nodes, 1);
  const Participants all = Session(3).first(12);
  EXPECT_EQ(all.here.size(), 3U);
  EXPECT_EQ(all.processes, 4);
  EXPECT_EQ(all.nodes, 2);
  EXPECT_FALSE(all.idle());
}

TEST(Participants, OthersWait) {
  const Participants none = Session(2).first(6);
  EXPECT_TRUE(none.idle());
  EXPECT_EQ(none.ranks, 6U);
  json conditions;
  none.describe(conditions);
  EXPECT_EQ(conditions, (json{{"ranks", 6}, {"processes", 2}, {"nodes", 1}}));
  Session(0).first(1).describe(conditions);
  EXPECT_EQ(conditions, (json{{"ranks", 1}, {"processes", 1}, {"nodes", 1}}));
}

TEST(Participants, PowersOfTwoAndWholeNodes) {
  Session session(0);
  EXPECT_THAT(rank_counts(session.platform, session.options), ElementsAre(1, 2, 4, 6, 8, 12));
  EXPECT_THAT(rank_counts(session.platform, session.options, 2), ElementsAre(2, 4, 6, 8, 12));
  EXPECT_THAT(rank_counts(session.platform, Options{}, 2), ElementsAre(2, 3));
}

TEST(Participants, TheSlowestIsNamedWithItsPlace) {
  Session session(0);
  const Participants four = session.first(4);
  session.world.said = {"", R"([{"rank": 3, "name": "slow one", "process": 1, "node": 0, "seconds": 3.0}])", "[]",
                        "[]"};
  const json found = slowest_rank(session.world, four, std::vector<double>{2.0, 2.5, 2.0});
  EXPECT_EQ(found, (json{{"slowest_rank",
                          {{"rank", 3}, {"name", "slow one"}, {"process", 1}, {"node", 0}, {"times_fastest", 1.5}}}}));
}

TEST(Participants, OneProcessNeedsNoPlace) {
  kernels::World alone;
  Session session(0);
  const Participants three = session.first(3);
  const json found = slowest_rank(alone, three, std::vector<double>{1.0, 4.0, 2.0})["slowest_rank"];
  EXPECT_EQ(found["rank"], 1);
  EXPECT_EQ(found["times_fastest"], 4.0);
  EXPECT_FALSE(found.contains("process"));
}

}  // namespace
}  // namespace claimcheck::bench
