#include "harness/judge/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/link_rates.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

bool about(double a, double b) { return b > 0 && std::abs(a / b - 1) < 0.03; }

std::optional<double> pcie_one_way(const Accelerator& card) {
  const auto generation = number_at(card.record, "/pcie_gen");
  const auto lanes = number_at(card.record, "/pcie_lanes");
  return generation && lanes ? std::optional(pcie_gbps(*generation, *lanes)) : std::nullopt;
}

bool is_peer_rate(const std::string& metric) { return metric == "p2p.read.gbps" || metric == "p2p.write.gbps"; }

class Definitions {
 public:
  Definitions(const Claim& claim, const Measurement& measurement, const Accelerator* card, const Platform* platform)
      : claim_(claim), card_(card), platform_(platform), claimed_(claim.value.get<double>()) {
    devices_ = static_cast<double>(measurement.devices.size());
    if (devices_ < 2 && platform != nullptr) devices_ = platform->accelerator_count.value_or(1);
    per_node_ = text_at(claim.definition, "per") == "node";
  }

  std::string found() const {
    if (const auto sheet = sheet_figure()) return against_sheet(*sheet);
    if (const auto one_way = one_direction()) return against_one_way(*one_way);
    return network();
  }

 private:
  // What the data sheet has for one device.
  std::optional<double> sheet_figure() const {
    if (card_ == nullptr) return std::nullopt;
    if (const std::string type = gemm_data_type(claim_.metric); !type.empty()) return dense_claim(*card_, type);
    return claim_.metric.starts_with("memory.") && claim_.unit == "GB/s" ? card_->memory_bandwidth_gbps : std::nullopt;
  }

  std::string claimed() const { return claimed_text(claim_.value, claim_.unit); }
  std::string figure(double value) const { return claimed_text(value, claim_.unit); }

  std::string against_sheet(double sheet) const {
    const bool gemm = !gemm_data_type(claim_.metric).empty();
    const bool said_sparse = flag_at(claim_.definition, "sparse");
    if (gemm && !said_sparse && !per_node_ && about(claimed_, 2 * sheet))
      return fmt::format(
          "{} is the sparse figure of the {}: twice its dense {}, which is what a dense matrix multiply can come near. "
          "-> Judge the dense figure ('{}>={}'), or say that the claim is sparse ('{}[sparse=yes]>={}').",
          claimed(), card_->name, figure(sheet), claim_.metric, exact_text(sheet), claim_.metric, exact_text(claimed_));
    if (devices_ > 1 && !per_node_) {
      if (about(claimed_, devices_ * sheet))
        return fmt::format(
            "{} is the figure of {:.0f} devices together; the metric is of one. -> Say that the claim is "
            "of the node: '{}[per=node]>={}'.",
            claimed(), devices_, claim_.metric, exact_text(claimed_));
      if (gemm && !said_sparse && about(claimed_, 2 * devices_ * sheet))
        return fmt::format(
            "{} is the sparse figure of {:.0f} devices together. -> Say so: "
            "'{}[per=node,sparse=yes]>={}'.",
            claimed(), devices_, claim_.metric, exact_text(claimed_));
    }
    return gemm ? "" : binary(sheet);
  }

  // "2039 GiB/s" of a data sheet that says 2039 GB/s.
  std::string binary(double sheet) const {
    const std::string given = text_at(claim_.definition, "given");
    for (const auto& [unit, factor] : {std::pair("GiB", std::exp2(30) / 1e9), std::pair("TiB", std::exp2(40) / 1e12)}) {
      if (given.find(unit) == std::string::npos || !(std::abs(claimed_ / factor / sheet - 1) < 0.005)) continue;
      return fmt::format(
          "{} takes the data sheet's {} for a binary unit and so claims {} more than it says. -> Judge "
          "'{}>={}'.",
          given, figure(sheet), share_text(factor - 1), claim_.metric, exact_text(sheet));
    }
    return {};
  }

  // Of links between GPUs and to the host, as the metric counts them.
  std::optional<double> one_direction() const {
    if (card_ == nullptr) return std::nullopt;
    if (is_peer_rate(claim_.metric) || claim_.metric == "allreduce.busbw.gbps")
      return card_->interconnect_gbps ? std::optional(*card_->interconnect_gbps / 2) : std::nullopt;
    if (claim_.metric == "host_link.h2d.gbps" || claim_.metric == "host_link.d2h.gbps") return pcie_one_way(*card_);
    return std::nullopt;
  }

  // NVLink and PCIe, as sheets and offers add them up.
  std::string against_one_way(double one_way) const {
    const bool host = claim_.metric.starts_with("host_link.");
    const char* links = host ? "PCIe" : "the links";
    const bool said_both = text_at(claim_.definition, "direction") == "both";
    if (!said_both && !per_node_ && about(claimed_, 2 * one_way))
      return fmt::format(
          "{} counts both directions of {}; the metric is of one, which is {}. -> Judge '{}>={}', or '{}>={}'.",
          claimed(), links, figure(one_way), claim_.metric, exact_text(one_way),
          host ? "host_link.bidirectional.gbps" : "p2p.bidirectional.gbps", exact_text(claimed_));
    const double all = devices_ * one_way;
    if (devices_ > 1 && !per_node_ && (about(claimed_, all) || about(claimed_, 2 * all)))
      return fmt::format(
          "{} is what {} of {:.0f} devices carry together{}; the metric is of one, one way. -> Judge '{}>={}'.",
          claimed(), links, devices_, about(claimed_, all) ? "" : ", both directions", claim_.metric,
          exact_text(one_way));
    return network();
  }

  std::string network() const {
    if (platform_ == nullptr || !platform_->network_gbps || claim_.unit != "GB/s") return {};
    const bool adapter = claim_.metric.starts_with("network.");
    if (!adapter && claim_.metric != "allreduce.busbw.gbps") return {};
    const double bits = *platform_->network_gbps;
    if (about(claimed_, bits))
      return fmt::format("{} has the digits of the network's {} Gb/s: bits, not bytes. -> Judge {} GB/s.", claimed(),
                         exact_text(bits), exact_text(bits / 8));
    const double adapters = number_at(platform_->record, "/network_nics").value_or(1);
    if (adapter && adapters > 1 && about(claimed_, bits / 8))
      return fmt::format("{} is what all {:.0f} adapters of the node carry; the metric is of one. -> Judge '{}>={}'.",
                         claimed(), adapters, claim_.metric, exact_text(bits / 8 / adapters));
    return {};
  }

  const Claim& claim_;
  const Accelerator* card_;
  const Platform* platform_;
  double claimed_;
  double devices_ = 1;
  bool per_node_ = false;
};

}  // namespace

double counted_times(const Claim& claim) {
  const bool sparse = flag_at(claim.definition, "sparse");
  const bool one_way = claim.metric.find("bidirectional") == std::string::npos;
  const bool both = text_at(claim.definition, "direction") == "both" && one_way;
  return (sparse ? 2 : 1) * (both ? 2 : 1);
}

std::vector<std::string> definition_mismatch(const Claim& claim, const Measurement& measurement,
                                             const Accelerator* accelerator, const Platform* platform) {
  if (!claim.value.is_number()) return {};
  std::string found = Definitions(claim, measurement, accelerator, platform).found();
  return found.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(found)};
}

}  // namespace claimcheck
