// What figures over several nodes say of the network between them.
#include "harness/import/between_nodes.h"
#include "tests/unit/import_log_support.h"

namespace claimcheck {
namespace {

using namespace import_test;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string header =
    " setup       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  "
    "error\n";

// 512 MiB; busbw = bytes / time x 2 (n - 1) / n, eight ranks a node.
std::string row(int nodes, double busbw) {
  const double factor = 2.0 * (8 * nodes - 1) / (8 * nodes);
  const double algbw = busbw / factor;
  return fmt::format(
      "   {}   536870912     134217728     float     sum  {:.1f}  {:.2f}  {:.2f}  3e-07  {:.1f}  {:.2f}  {:.2f}  "
      "3e-07\n",
      nodes, 536870912 / algbw / 1e3, algbw, busbw, 536870912 / algbw / 1e3, algbw, busbw);
}

TEST(import_between_nodes, half_lost_with_more_nodes_is_a_fault) {
  const Imported run = imported(header + row(1, 220) + row(2, 80) + row(3, 60) + row(4, 40));
  EXPECT_EQ(find(run, "allreduce/bytes:536870912/nodes:4", "allreduce.busbw.gbps")->conditions["ranks"], 32);
  const Finding* loss = finding(run, "import.scaling");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->severity, "error");
  EXPECT_THAT(loss->text, HasSubstr("falls from 80.0 GB/s on 2 nodes to 40.0 GB/s on 4, by 50 %"));
}

TEST(import_between_nodes, one_node_is_no_yardstick_and_a_little_less_no_loss) {
  EXPECT_EQ(finding(imported(header + row(1, 220) + row(2, 80) + row(4, 70)), "import.scaling"), nullptr);
  EXPECT_EQ(finding(imported(header + row(2, 80) + row(4, 60)), "import.scaling")->severity, "warning");
}

Measurement measured(double bytes, double nodes, double gbps) {
  Measurement made;
  made.id = "allreduce";
  made.metric = "allreduce.busbw.gbps";
  made.unit = "GB/s";
  made.status = Outcome::ok;
  made.value = gbps;
  made.conditions = {{"bytes", bytes}, {"nodes", nodes}};
  return made;
}

TEST(import_between_nodes, rates_of_sockets_look_like_sockets) {
  const auto found = importing::findings_between_nodes({measured(1 << 30, 2, 0.7), measured(1 << 28, 2, 0.8)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "import.socket_class");
  EXPECT_THAT(found[0].text, HasSubstr("0.800 GB/s (6.4 Gb/s) at 256 MiB"));
  EXPECT_THAT(importing::findings_between_nodes({measured(1 << 30, 2, 11)}), IsEmpty());
  EXPECT_THAT(importing::findings_between_nodes({measured(1 << 30, 1, 0.7)}), IsEmpty()) << "one node has no network";
  EXPECT_THAT(importing::findings_between_nodes({measured(1 << 16, 2, 0.7)}), IsEmpty()) << "start-up, not bandwidth";
}

}  // namespace
}  // namespace claimcheck
