// Paths between devices of a machine with two NUMA nodes: a switch with a GPU and an adapter, a second switch under the
// same host bridge, and another host bridge on the other node.
#include "kernels/cuda/topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cuda/platform_facts.h"

namespace claimcheck::kernels::cuda {
namespace {

std::string device(const std::string& id, const std::string& type, const std::string& vendor,
                   const std::string& inside = {}) {
  return fmt::format(
      "<object type=\"PCIDev\" pci_busid=\"{}\" pci_type=\"{} [{}:1234] [{}:0001] a1\" "
      "pci_link_speed=\"0\">{}</object>",
      id, type, vendor, vendor, inside);
}
std::string gpu(const std::string& id) { return device(id, "0302", "10de"); }
std::string rdma(const std::string& id, const std::string& name) {
  return device(id, "0207", "15b3",
                fmt::format("<object type=\"OSDev\" name=\"ib{0}\" osdev_type=\"2\"/>"
                            "<object type=\"OSDev\" name=\"{0}\" osdev_type=\"3\"/>",
                            name));
}
std::string ethernet(const std::string& id, const std::string& name) {
  return device(id, "0200", "8086", fmt::format("<object type=\"OSDev\" name=\"{}\" osdev_type=\"2\"/>", name));
}
std::string bridge(const std::string& id, int depth, const std::string& range, const std::string& inside) {
  return fmt::format(
      "<object type=\"Bridge\" bridge_type=\"1-1\" depth=\"{}\" bridge_pci=\"0000:[{}]\" pci_busid=\"{}\" "
      "pci_type=\"0604 [1000:c030] [1000:100b] b0\" pci_link_speed=\"0\">{}</object>",
      depth, range, id, inside);
}
std::string host_bridge(const std::string& range, const std::string& inside) {
  return fmt::format("<object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[{}]\">{}</object>",
                     range, inside);
}
std::string sets(const std::string& set) {
  return fmt::format("cpuset=\"{0}\" complete_cpuset=\"{0}\" nodeset=\"{0}\" complete_nodeset=\"{0}\"", set);
}
std::string package(int index, const std::string& inside) {
  const std::string set = fmt::format("0x{:08x}", 1 << index);
  return fmt::format(
      "<object type=\"Package\" os_index=\"{0}\" {1} gp_index=\"{2}\">"
      "<object type=\"NUMANode\" os_index=\"{0}\" {1} gp_index=\"{3}\" local_memory=\"1073741824\"/>"
      "<object type=\"Core\" os_index=\"{0}\" {1} gp_index=\"{4}\"><object type=\"PU\" os_index=\"{0}\" {1} "
      "gp_index=\"{5}\"/></object>{6}</object>",
      index, sets(set), 10 + index, 20 + index, 30 + index, 40 + index, inside);
}

std::string machine() {
  // Port 0 of a switch leads to a GPU, port 1 to an adapter.
  const std::string near_switch = bridge("0000:10:00.0", 1, "11-14",
                                         bridge("0000:11:00.0", 2, "12-12", gpu("0000:12:00.0")) +
                                             bridge("0000:11:01.0", 2, "13-13", rdma("0000:13:00.0", "mlx5_0")));
  const std::string second = bridge("0000:10:01.0", 1, "15-16", gpu("0000:15:00.0"));
  const std::string ports = host_bridge("10-1f", near_switch + second);
  const std::string beside = host_bridge("20-2f", ethernet("0000:21:00.0", "eth0"));
  const std::string far = host_bridge("80-8f", gpu("0000:81:00.0"));
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
         "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" " +
         sets("0x00000003") + " allowed_cpuset=\"0x00000003\" allowed_nodeset=\"0x00000003\" gp_index=\"1\">" +
         package(0, ports + beside) + package(1, far) + "</object></topology>\n";
}

TEST(Topology, PathsHaveTheWordsOfNvidiaSmi) {
  const Topology topology(machine());
  EXPECT_EQ(topology.path("0000:12:00.0", "0000:13:00.0"), "PIX");
  EXPECT_EQ(topology.path("0000:12:00.0", "0000:15:00.0"), "PHB");
  EXPECT_EQ(topology.path("0000:12:00.0", "0000:21:00.0"), "NODE");
  EXPECT_EQ(topology.path("0000:12:00.0", "0000:81:00.0"), "SYS");
  EXPECT_EQ(topology.path("0000:81:00.0", "0000:12:00.0"), "SYS");
  EXPECT_EQ(topology.path("0000:12:00.0", "0000:99:00.0"), "");
}

TEST(Topology, NearestAdapters) {
  const Topology topology(machine());
  const std::vector<NearNic> near = topology.nearest_nics("0000:12:00.0");
  ASSERT_EQ(near.size(), 1U);
  EXPECT_EQ(near[0].name, "mlx5_0");  // not ibmlx5_0, its Ethernet face
  EXPECT_EQ(near[0].path, "PIX");
  const std::vector<NearNic> far = topology.nearest_nics("0000:81:00.0");
  ASSERT_EQ(far.size(), 2U);
  EXPECT_EQ(far[0].name, "eth0");
  EXPECT_EQ(far[1].name, "mlx5_0");
  EXPECT_EQ(far[1].path, "SYS");
  EXPECT_TRUE(topology.nearest_nics("0000:99:00.0").empty());
}

TEST(Topology, WhatIsNoXmlIsNotKnown) {
  const Topology topology("<topology");
  EXPECT_EQ(topology.path("0000:12:00.0", "0000:13:00.0"), "");
  EXPECT_TRUE(topology.nearest_nics("0000:12:00.0").empty());
}

TEST(NvLinks, DirectLinksAreCountedByTheirEnds) {
  const std::vector<std::string> zero = {"00000000:17:00.0", "00000000:17:00.0", "00000000:2A:00.0"};
  const std::vector<std::string> one = {"00000000:07:00.0", "00000000:07:00.0"};
  const std::vector<std::string> none;
  EXPECT_EQ(nvlinks_between(zero, "0000:07:00.0", one, "0000:17:00.0"), 2);
  EXPECT_EQ(nvlinks_between(zero, "0000:07:00.0", none, "0000:2a:00.0"), 1);
  EXPECT_EQ(nvlinks_between(zero, "0000:07:00.0", none, "0000:99:00.0"), 0);
}

TEST(NvLinks, ASwitchJoinsWithTheLesserCount) {
  const std::vector<std::string> full(18, "switch");
  const std::vector<std::string> degraded(16, "switch");
  EXPECT_EQ(nvlinks_between(full, "0000:1b:00.0", full, "0000:43:00.0"), 18);
  EXPECT_EQ(nvlinks_between(full, "0000:1b:00.0", degraded, "0000:43:00.0"), 16);
}

}  // namespace
}  // namespace claimcheck::kernels::cuda
