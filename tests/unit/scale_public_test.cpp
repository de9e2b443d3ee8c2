// Predictions against the public figures of several nodes. The table of docs/scaling.md is read and every row of it
// worked out again, so that the page says what the model does.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "harness/catalog/catalog.h"
#include "harness/judge/machine.h"
#include "tests/unit/scale_support.h"

namespace claimcheck::scale {
namespace {

using scale_test::json;

using Row = std::vector<std::string>;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" `");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" `") - first + 1);
}

// The rows of the page's table under `heading`, without its first two lines.
std::vector<Row> table_of(const std::string& heading) {
  std::ifstream page(CLAIMCHECK_SOURCE_DIR "/docs/scaling.md");
  std::vector<Row> rows;
  bool found = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) found = line == heading;
    if (!found || !line.starts_with("|")) continue;
    Row row;
    std::istringstream cells(line.substr(1));
    for (std::string cell; std::getline(cells, cell, '|');) row.push_back(trimmed(cell));
    rows.push_back(row);
  }
  if (rows.size() > 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

// "aws:p5.48xlarge/2-nodes-16GiB" is the catalog's aws:p5.48xlarge/allreduce.busbw.gbps/2-nodes-16GiB.
const Expected& line_of(const Catalog& catalog, const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::string id = name.substr(0, slash) + "/allreduce.busbw.gbps" + name.substr(slash);
  for (const Expected& expected : catalog.expected) {
    if (expected.id == id) return expected;
  }
  throw std::out_of_range(id);
}

// A rack of 72 GB200 is one NVLink domain: its links as NCCL counts them, the all-reduce of one rack as measured (841
// GB/s), an InfiniBand port of 400 Gb/s a GPU. The catalog knows hosts of 4 only.
Fabric rack() {
  Fabric fabric;
  fabric.ranks_per_node = 72;
  fabric.ring_rate = 900e9 * 40.1 / 50;
  fabric.in_switch_rate = 841e9 / bus_factor(72);
  fabric.network_rate = 72 * 50e9 * 0.98;
  return fabric;
}

Fabric fabric_of(const Catalog& catalog, const std::string& platform) {
  if (platform == "rack of 72") return rack();
  MachineOptions options;
  options.instance = platform;
  return machine_of(nullptr, catalog, options).fabric;
}

// NCCL's choice, or the one the figure is of.
double predicted(const Fabric& fabric, int nodes, double bytes, const std::string& algorithm) {
  double seconds = best(fabric, nodes, bytes).seconds;
  if (!algorithm.empty()) {
    const std::string wanted = algorithm == "nvlstree" ? "nvls_tree" : algorithm;
    seconds = 1e9;
    for (const Prediction& prediction : candidates(fabric, nodes, bytes)) {
      if (to_string(prediction.algorithm) == wanted) seconds = std::min(seconds, prediction.seconds);
    }
  }
  return bus_factor(nodes * fabric.ranks_per_node) * bytes / seconds / 1e9;
}

double number(const std::string& cell) { return std::stod(cell); }

TEST(ScalePublic, TheTableOfThePageIsWhatTheModelSays) {
  const Catalog catalog = load_catalog();
  const std::vector<Row> rows = table_of("### All-reduce over several nodes");
  ASSERT_GE(rows.size(), 15);
  for (const Row& row : rows) {
    // line | machine of the prediction | nodes | MiB | measured | predicted | error | why
    ASSERT_GE(row.size(), 8) << row[0];
    SCOPED_TRACE(row[0]);
    const Expected& line = line_of(catalog, row[0]);
    const Fabric fabric = fabric_of(catalog, row[1]);
    const int ranks = static_cast<int>(*number_at(line.conditions, "/ranks"));
    const int nodes = ranks / fabric.ranks_per_node;
    EXPECT_EQ(nodes, std::stoi(row[2]));
    const double bytes = number(row[3]) * mib;
    EXPECT_EQ(bytes, number_at(line.conditions, "/bytes").value_or(bytes));
    EXPECT_NEAR(number(row[4]), *line.typical, 0.05);
    const double value = predicted(fabric, nodes, bytes, text_at(line.conditions, "algorithm"));
    EXPECT_NEAR(number(row[5]), value, 0.05) << "predicted";
    EXPECT_NEAR(number(row[6]), (value / *line.typical - 1) * 100, 0.05) << "error in percent";
  }
}

// Every figure of several nodes that the catalog has is on the page.
TEST(ScalePublic, NothingIsLeftOut) {
  const Catalog catalog = load_catalog();
  std::map<std::string, int> shown;
  for (const Row& row : table_of("### All-reduce over several nodes")) ++shown[line_of(catalog, row[0]).id];
  for (const Expected& expected : catalog.expected) {
    if (expected.metric != "allreduce.busbw.gbps" || expected.kind != "measured") continue;
    if (text_at(expected.conditions, "fabric") == "nvlink-rack") continue;  // one NVLink domain
    const bool several = number_at(expected.conditions, "/nodes").value_or(1) > 1;
    EXPECT_EQ(shown[expected.id], several ? 1 : 0) << expected.id;
  }
}

// Large messages, tuned, on a network whose raw rate is known: what the model is for.
TEST(ScalePublic, LargeTunedMessagesAreWithinFifteenPercent) {
  const Catalog catalog = load_catalog();
  int counted = 0;
  for (const Row& row : table_of("### All-reduce over several nodes")) {
    const bool large = number(row[3]) >= 2048;
    const bool stated = row[7].find("untuned") == std::string::npos && row[1] != "rack of 72";
    if (!large || !stated || text_at(line_of(catalog, row[0]).conditions, "algorithm") == "nvlstree") continue;
    ++counted;
    EXPECT_LE(std::abs(number(row[6])), 15) << row[0];
  }
  EXPECT_GE(counted, 7);
}

// MPT-1B of the page: FSDP at 2048 tokens, 20 sequences a GPU, H100s; utilisation on 32 and 64 GPUs against 16.
TEST(ScalePublic, TrainingOfThePage) {
  const Catalog catalog = load_catalog();
  const std::vector<Row> rows = table_of("### Training steps");
  ASSERT_EQ(rows.size(), 3);
  ScaleOptions options;
  options.machine.instance = "azure:Standard_ND96isr_H100_v5";
  options.nodes = {2, 4, 8};
  options.model = {"1b", 1315950592, 24, 2048};
  options.batch = 20;
  const json weak = scale_json(nullptr, catalog, options)["training"]["weak"];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i][0]);
    // GPUs | measured MFU | of 16 GPUs' | predicted of 16 GPUs'
    EXPECT_EQ(weak[i]["gpus"].get<int>(), std::stoi(rows[i][0]));
    EXPECT_NEAR(number(rows[i][2]), number(rows[i][1]) / number(rows[0][1]) * 100, 0.05);
    const double efficiency = weak[i]["efficiency"].get<double>() / weak[0]["efficiency"].get<double>();
    EXPECT_NEAR(number(rows[i][3]), efficiency * 100, 0.05);
  }
}

}  // namespace
}  // namespace claimcheck::scale
