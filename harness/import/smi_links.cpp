#include "harness/import/smi_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "harness/import/fields.h"

namespace claimcheck::importing {
namespace {

struct Product {
  std::string_view word;
  NvlinkProduct product;
};
// Data sheets of the SXM modules and superchips; the longer name first. Cards with bridges are not here.
constexpr std::array<Product, 15> products = {{{"P100-SXM", {4, 20, "1.0"}},
                                               {"V100-SXM", {6, 25, "2.2"}},
                                               {"A100-SXM", {12, 25, "3.0"}},
                                               {"A800-SXM", {8, 25, "3.0"}},
                                               {"H800", {8, 25, "4.0"}},
                                               {"H100 80GB HBM3", {18, 25, "4.0"}},
                                               {"H100 64GB", {18, 25, "4.0"}},
                                               {"H20", {18, 25, "4.0"}},  // H20 and H200
                                               {"GH200", {18, 25, "4.0"}},
                                               {"GB200", {18, 50, "5.0"}},
                                               {"GB300", {18, 50, "5.0"}},
                                               {"B200", {18, 50, "5.0"}},
                                               {"B300", {18, 50, "5.0"}},
                                               {"H100 SXM", {18, 25, "4.0"}},
                                               {"A100-80GB-SXM", {12, 25, "3.0"}}}};

// The version that a link's own rate stands for: 19.4 to 20, 25 and 25.781 (V100 and A100), 26.562 (Hopper), 50 and
// 53.125 (Blackwell).
std::string_view version_of(double rate) {
  if (rate >= 40) return "5.0";
  if (rate >= 26) return "4.0";
  if (rate >= 25) return rate > 25.5 ? "2.2" : "3.0";
  return rate >= 15 ? "1.0" : "";
}

bool has(std::string_view text, std::string_view word) { return contains(lower(text), word); }

}  // namespace

std::optional<NvlinkProduct> nvlink_product(std::string_view name) {
  if (contains(name, "PCIe") || contains(name, "PCIE") || contains(name, " NVL")) return std::nullopt;
  for (const auto& [word, product] : products)
    if (contains(name, word)) return product;
  return std::nullopt;
}

bool SmiLinks::line(std::string_view text) {
  const std::string_view rest = trimmed(text);
  if (rest.starts_with("GPU ") && contains(rest, "(UUID:")) return gpu(rest);
  if (gpu_ == nullptr) return false;
  return link(rest) || sentence(rest);
}

// "GPU 6: NVIDIA A100-SXM4-80GB (UUID: GPU-...)", sometimes with the sentence behind it.
bool SmiLinks::gpu(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto index = number(trimmed(text.substr(4, colon - 4)));
  if (!index || *index < 0 || *index >= 4096) return false;
  finish();
  if (gpus_.last() == nullptr || (gpus_.last()->index && *gpus_.last()->index >= static_cast<int>(*index)))
    gpus_.begin_document();
  gpu_ = &gpus_.at_index(static_cast<int>(*index));
  const std::size_t bracket = text.find("(UUID:");
  gpu_->take(SmiOutput::csv, "name", trimmed(text.substr(colon + 1, bracket - colon - 1)));
  const std::size_t end = text.find(')', bracket);
  gpu_->take(SmiOutput::csv, "uuid", text.substr(bracket + 6, end == text.npos ? end : end - bracket - 6));
  if (end != std::string_view::npos && end + 1 < text.size()) sentence(trimmed(text.substr(end + 1)));
  return true;
}

// "Link 3: 26.562 GB/s", "Link 3: <inactive>", "Link 0: Replay Errors: 2", "Link 0, P2P is supported: true"
bool SmiLinks::link(std::string_view text) {
  if (text.starts_with("MIG ") && contains(text, "(UUID:")) {
    if (gpu_->slices.size() < 64) gpu_->slices.emplace_back(Fields(text)[1]);
    return true;
  }
  if (!text.starts_with("Link ")) return false;
  const std::size_t colon = text.find(':');
  if (contains(text, ", ") || colon == std::string_view::npos) return true;
  const std::string_view state = trimmed(text.substr(colon + 1));
  if (const std::size_t last = state.rfind(':'); last != std::string_view::npos && has(state, "error")) {
    const double errors = number(trimmed(state.substr(last + 1))).value_or(0);
    if (errors > 0)
      collected_.add(Finding{.id = "smi.nvlink_errors",
                             .severity = "warning",
                             .text = fmt::format("{}: {} of {}: {:.0f}.", gpu_->name(), trimmed(state.substr(0, last)),
                                                 text.substr(0, colon), errors),
                             .next_step = "Look again after a run: a counter that rises means a bad link.",
                             .evidence = {{"device", *gpu_->index}, {"errors", errors}}});
    return true;
  }
  const auto rate = quantity(state);
  if (rate && rate->unit == "GB/s" && rate->value > 0) {
    ++active_;
    ++listed_;
    rate_ = std::max(rate_, rate->value);
  } else if (has(state, "inactive")) {
    ++listed_;
  }
  return true;
}

bool SmiLinks::sentence(std::string_view text) {
  if (has(text, "all links are inactive")) return all_inactive_ = true;
  if (has(text, "not supported") && has(text, "mig")) {
    collected_.note(
        fmt::format("{}: links cannot be asked for under MIG: their state is unknown, not 0", gpu_->name()));
    return true;
  }
  if (has(text, "does not have or support nvlink")) {
    gpu_->facts["nvlink_links"] = 0;
    gpu_->facts["nvlink_links_active"] = 0;
    return true;
  }
  if (text.starts_with("NVML:") || has(text, "unable to retrieve nvlink")) {
    collected_.note(fmt::format("{}: {}: the state of its links is unknown", gpu_->name(), text));
    return true;
  }
  return false;
}

void SmiLinks::finish() {
  if (gpu_ == nullptr) return;
  const auto name = gpu_->entry.value("name", std::string());
  const auto product = nvlink_product(name);
  if (listed_ > 0 || all_inactive_) {
    const int links = std::max(listed_, product ? product->links : 0);
    gpu_->facts["nvlink_links_active"] = active_;
    // A card without its bridge is whole: only of a module all links are expected.
    if (active_ > 0 || product) gpu_->facts["nvlink_links"] = links;
    const std::string_view version = product ? product->version : version_of(rate_);
    if (!version.empty()) gpu_->facts["nvlink_version"] = std::string(version);
    if (product && active_ < links)
      collected_.add(
          Finding{.id = fmt::format("smi.nvlink_down:{}", *gpu_->index),
                  .severity = "error",
                  .text = fmt::format("{} ({}): {} of {} NVLinks are active.", gpu_->name(), name, active_, links),
                  .next_step = fmt::format("nvidia-smi nvlink -i {} -s and -e; ask the provider to repair the link, "
                                           "or return the machine.",
                                           *gpu_->index),
                  .evidence = {{"device", *gpu_->index}, {"active", active_}, {"links", links}}});
  }
  gpu_ = nullptr;
  listed_ = active_ = 0;
  rate_ = 0;
  all_inactive_ = false;
}

}  // namespace claimcheck::importing
