// Predictions for more nodes, against values worked out by hand.
#include <cmath>

#include "tests/unit/scale_support.h"

namespace claimcheck::scale {
namespace {

using scale_test::ElementsAre;
using scale_test::HasSubstr;
using scale_test::refusal;
using scale_test::us;

// 8 ranks a node: ring 400 GB/s, switch 250 GB/s, network 200 GB/s.
Fabric fabric() {
  Fabric made;
  made.ranks_per_node = 8;
  made.ring_rate = 400e9;
  made.in_switch_rate = 250e9;
  made.network_rate = 200e9;
  return made;
}

const Prediction& of(const std::vector<Prediction>& all, Algorithm algorithm, Protocol protocol = Protocol::simple) {
  for (const Prediction& prediction : all) {
    if (prediction.algorithm == algorithm && prediction.protocol == protocol) return prediction;
  }
  throw std::out_of_range("no such candidate");
}

TEST(ScaleFit, RecoversALine) {
  std::vector<TimedSize> points;
  for (const double bytes : {8.0, 1e4, 1e6, 1e9}) points.push_back({bytes, 10 * us + bytes / 100e9});
  const auto fit = fit_alpha_beta(points);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->alpha_seconds, 10 * us, 1e-12);
  EXPECT_NEAR(fit->bytes_per_second, 100e9, 1e3);
  EXPECT_NEAR(fit->rms_residual, 0, 1e-9);
  EXPECT_EQ(fit->points, 4);
}

// Weights 1, 1, 1/9: sums 19/9, 10/3, 6, 7/3, 4; determinant 14/9; alpha = slope = (2/3) / (14/9) = 3/7.
// Fitted 6/7, 9/7, 12/7: residuals -1/7, 2/7, -3/7.
TEST(ScaleFit, WeighsRelativeResiduals) {
  const auto fit = fit_alpha_beta({{1, 1}, {2, 1}, {3, 3}});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->alpha_seconds, 3.0 / 7, 1e-12);
  EXPECT_NEAR(fit->bytes_per_second, 7.0 / 3, 1e-12);
  EXPECT_NEAR(fit->rms_residual, std::sqrt(14.0 / 147), 1e-12);
  EXPECT_NEAR(fit->worst_residual, -3.0 / 7, 1e-12);
  EXPECT_EQ(fit->worst_bytes, 3);
}

// The best line through (1, 1) and (2, 3) has alpha -1; through zero, with weights 1 and 1/9:
// slope = (1 + 6/9) / (1 + 4/9) = 15/13.
TEST(ScaleFit, NeverStartsBelowZero) {
  const auto fit = fit_alpha_beta({{1, 1}, {2, 3}});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->alpha_seconds, 0);
  EXPECT_NEAR(fit->bytes_per_second, 13.0 / 15, 1e-12);
}

TEST(ScaleFit, RefusesWhatIsNoLine) {
  EXPECT_FALSE(fit_alpha_beta({}));
  EXPECT_FALSE(fit_alpha_beta({{8, 1}}));
  EXPECT_FALSE(fit_alpha_beta({{8, 1}, {8, 2}}));   // one size twice
  EXPECT_FALSE(fit_alpha_beta({{8, 2}, {16, 2}}));  // does not grow
  EXPECT_FALSE(fit_alpha_beta({{8, 2}, {16, 1}}));
  EXPECT_FALSE(fit_alpha_beta({{8, 0}, {16, 1}}));
}

TEST(ScaleAllreduce, Factors) {
  EXPECT_DOUBLE_EQ(bus_factor(2), 1);
  EXPECT_DOUBLE_EQ(bus_factor(8), 1.75);
  EXPECT_EQ(tree_traffic(1), 0);
  EXPECT_EQ(tree_traffic(2), 1);
  EXPECT_EQ(tree_traffic(3), 1.5);
  EXPECT_EQ(tree_traffic(512), 2);
}

TEST(ScaleAllreduce, OneNode) {
  const auto all = candidates(fabric(), 1, 1e9);
  // 8.4 + 14 x 3.4 = 56 us; 1e9 x 1.75 / 400e9 = 4.375 ms
  EXPECT_NEAR(of(all, Algorithm::ring).seconds, 4375 * us + 56 * us, 1e-9);
  // 6.6 + 14 x 0.6 = 15 us, half the rate
  EXPECT_NEAR(of(all, Algorithm::ring, Protocol::ll).seconds, 8750 * us + 15 * us, 1e-9);
  // 8.4 + 2 x 7 x 4 = 64.4 us; 0.92 x 400e9 / 2 = 184e9
  EXPECT_NEAR(of(all, Algorithm::tree).seconds, 1 / 184.0 + 64.4 * us, 1e-9);
  EXPECT_NEAR(of(all, Algorithm::nvls).seconds, 4000 * us + 25 * us, 1e-9);
  EXPECT_EQ(best(fabric(), 1, 1e9).algorithm, Algorithm::nvls);
  EXPECT_FALSE(best(fabric(), 1, 1e9).network_limits);
  EXPECT_EQ(best(fabric(), 1, 8).algorithm, Algorithm::ring);  // 15 us of LL, tree: 6.8 + 14 x 0.6 = 15.2
  EXPECT_NEAR(best(fabric(), 1, 8).seconds, 15 * us, 1e-9);
  EXPECT_THROW(of(all, Algorithm::two_level), std::out_of_range);
}

TEST(ScaleAllreduce, FourNodes) {
  const auto all = candidates(fabric(), 4, 1e9);
  // 62 steps, 8 between nodes: (8.4 + 54 x 3.4 + 8 x 14) x 1.4 = 425.6 us; bus 200e9, factor 1.9375
  EXPECT_NEAR(of(all, Algorithm::ring).alpha_seconds, 425.6 * us, 1e-9);
  EXPECT_NEAR(of(all, Algorithm::ring).seconds, 1.9375 / 200 + 425.6 * us, 1e-9);
  // 8.4 + 2 (7 x 4 + 2 x 14) = 120.4 us; network / 2 = 100e9 is less than 184e9
  EXPECT_NEAR(of(all, Algorithm::tree).seconds, 0.01 + 120.4 * us, 1e-9);
  EXPECT_TRUE(of(all, Algorithm::tree).network_limits);
  // 25 + 4 x 20.9 = 108.6 us
  EXPECT_NEAR(of(all, Algorithm::nvls_tree).seconds, 0.01 + 108.6 * us, 1e-9);
  // 8.4 + 14 x 3.4 + 6 x 14 = 140 us; 1 / 250 + 1.5 / 200 = 11.5 ms
  EXPECT_NEAR(of(all, Algorithm::two_level).seconds, 0.0115 + 140 * us, 1e-9);
  EXPECT_EQ(best(fabric(), 4, 1e9).algorithm, Algorithm::nvls_tree);
  EXPECT_EQ(best(fabric(), 4, 1e11).algorithm, Algorithm::ring);  // 103.2e9 against 100e9 of large messages
}

TEST(ScaleAllreduce, TwoNodesOfATreeKeepHalfInside) {
  Fabric made = fabric();
  made.network_rate = 260e9;
  // Each node sends every byte once: 250 GB/s of the switch limit, where a ring has 260 / 1.875 = 138.7 GB/s.
  EXPECT_NEAR(asymptotic_rate(made, 2), 250e9, 1e3);
  made.network_rate = 200e9;
  EXPECT_NEAR(asymptotic_rate(made, 2), 200e9, 1e3);
  EXPECT_TRUE(best(made, 2, 1e9).network_limits);
}

TEST(ScaleAllreduce, NeverChoosesWhatNcclHasNot) {
  Fabric made = fabric();
  made.in_switch_rate.reset();
  made.network_rate = 20e9;  // two levels move half of what a ring moves
  const auto all = candidates(made, 2, 1e10);
  EXPECT_LT(of(all, Algorithm::two_level).seconds, of(all, Algorithm::ring).seconds);
  EXPECT_NE(best(made, 2, 1e10).algorithm, Algorithm::two_level);
}

TEST(ScaleAllreduce, OneRankANode) {
  Fabric made;
  made.ring_rate = 1e18;
  made.network_rate = 10e9;
  // ring of 2: both steps cross; LL128 needs NVLink's order inside, which one rank has by itself
  EXPECT_NEAR(of(candidates(made, 2, 1e9), Algorithm::ring).alpha_seconds, (8.4 + 2 * 14) * 1.4 * us, 1e-12);
  EXPECT_NEAR(asymptotic_rate(made, 2), 10e9, 1e3);
}

TEST(ScaleAllreduce, NetworkRateIsTheInverse) {
  for (const int nodes : {2, 3, 4, 64}) {
    Fabric made = fabric();
    made.network_rate = 100e9;
    const double rate = asymptotic_rate(made, nodes);
    EXPECT_NEAR(network_rate_for(rate, nodes * 8, nodes), 100e9, 1e4) << nodes;
  }
}

TEST(ScaleTraining, Presets) {
  EXPECT_EQ(training_model("7b").parameters, 6.7e9);
  EXPECT_EQ(training_model("3B").parameters, 3e9);
  EXPECT_EQ(training_model("350e6").parameters, 350e6);
  EXPECT_EQ(training_model("3B").layers, 0);
  // 6 x 125e6 + 12 x 12 x 768 x 2048
  EXPECT_DOUBLE_EQ(flops_per_token(training_model("125M"), 2048), 976492416);
  EXPECT_THAT(refusal([] { training_model("1.3G"); }), HasSubstr("did you mean \"1.3B\"?"));
  EXPECT_THAT(refusal([] { training_model(""); }), HasSubstr("neither a preset"));
  EXPECT_THAT(refusal([] { training_model("-3B"); }), HasSubstr("number of parameters"));
  EXPECT_THAT(refusal([] { training_model("nan"); }), HasSubstr("number of parameters"));
  EXPECT_THAT(refusal([] { training_model("1e99"); }), HasSubstr("number of parameters"));
}

// 3 s of compute, 2 s of them backward; 4 buckets, ready after 0.5, 1, 1.5 and 2 s of backward.
TEST(ScaleTraining, Overlap) {
  const Gradients gradients{4, 1, true};
  const Step fast = training_step(3, gradients, [](double) { return 0.1; });
  EXPECT_NEAR(fast.exposed_seconds, 0.1, 1e-12);  // only the last bucket
  EXPECT_NEAR(fast.allreduce_seconds, 0.4, 1e-12);
  EXPECT_NEAR(fast.seconds(), 3.1, 1e-12);
  EXPECT_NEAR(fast.efficiency(), 3 / 3.1, 1e-12);
  const Step slow = training_step(3, gradients, [](double) { return 1.0; });
  EXPECT_NEAR(slow.exposed_seconds, 0.5 + 4 - 2, 1e-12);
  const Step after = training_step(3, {4, 1, false}, [](double) { return 1.0; });
  EXPECT_NEAR(after.exposed_seconds, 4, 1e-12);
  const Step alone = training_step(3, gradients, [](double) { return 0.0; });
  EXPECT_EQ(alone.efficiency(), 1);
}

TEST(ScaleTraining, TheLastBucketIsWhatRemains) {
  const Step step = training_step(3, {2.5, 1, false}, [](double bytes) { return bytes; });
  EXPECT_NEAR(step.allreduce_seconds, 2.5, 1e-12);
  const Step small = training_step(3, {0.5, 1, true}, [](double bytes) { return bytes; });
  EXPECT_NEAR(small.exposed_seconds, 0.5, 1e-12);
}

TEST(ScaleParse, Lists) {
  EXPECT_THAT(parse_nodes("8,1,64,8"), ElementsAre(1, 8, 64));
  EXPECT_THAT(parse_sizes("1MiB,8,2GB"), ElementsAre(8, 1048576, 2e9));
  for (const char* wrong : {"", "1,", "0", "-1", "1.5", "two", "65537", "1;2"}) {
    EXPECT_THAT(refusal([&] { parse_nodes(wrong); }), HasSubstr("such as 1,8,64,512")) << wrong;
  }
  for (const char* wrong : {"", "1MB,", "0", "-1", "1XB", "1Mi", "inf", "nan", "1e30"}) {
    EXPECT_THAT(refusal([&] { parse_sizes(wrong); }), HasSubstr("such as 1MiB,256MiB,8GiB")) << wrong;
  }
}

}  // namespace
}  // namespace claimcheck::scale
