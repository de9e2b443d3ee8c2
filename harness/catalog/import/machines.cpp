#include "harness/catalog/import/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/catalog/names.h"
#include "harness/terminal_text.h"

namespace claimcheck::catalog_import {
namespace {

constexpr std::size_t most_remembered = 100000;  // marketplaces name every offer anew
constexpr std::size_t most_cards = 5000;
constexpr std::size_t most_name_bytes = 120;

// Printable, and short enough for a table. What else is in a name came from somewhere else.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= most_name_bytes && sanitised_text(text) == text &&
         text.find('\n') == std::string_view::npos;
}

Resolved left_out(std::string why) { return {0, false, std::move(why), "", 1}; }
Resolved refused(std::string why, std::string detail = "") { return {0, true, std::move(why), std::move(detail), 1}; }

// Unset for shares of a card and for what is no number.
std::optional<int> whole(std::string_view text) {
  const auto number = amount_of(text);
  if (!number || *number < 1 || *number > 1024 || *number != std::floor(*number)) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

std::optional<TpuSlice> tpu_slice(std::string_view text) {
  if (text.starts_with("tpu-")) text.remove_prefix(4);
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto size = amount_of(text.substr(dash + 1));
  if (!size || *size < 1) return std::nullopt;
  const std::string_view name = text.substr(0, dash);
  // Names of v2 to v4 and v5p count TensorCores, two a chip; those of v5e and v6e count chips.
  for (const std::string_view generation : {"v2", "v3", "v4", "v5p"}) {
    if (name == generation) return TpuSlice{std::string(generation), std::max(1.0, *size / 2)};
  }
  if (name == "v5litepod" || name == "v5e") return TpuSlice{"v5e", *size};
  if (name == "v6e") return TpuSlice{"v6e", *size};
  return std::nullopt;
}

MachineIndex::MachineIndex(const Catalog& catalog, std::vector<Machine>& machines)
    : catalog_(catalog), machines_(machines) {
  const auto enter = [this](const Platform& platform, const std::string& name) {
    const auto [place, added] = platforms_.emplace(platform.provider + ":" + instance_name(name).second, &platform);
    if (!added && place->second != &platform) place->second = nullptr;
    const auto [any, first] = platforms_.emplace(":" + instance_name(name).second, &platform);  // of any provider
    if (!first && any->second != &platform) any->second = nullptr;
  };
  for (const Platform& platform : catalog.platforms) {
    enter(platform, platform.instance);
    for (const std::string& alias : platform.aliases) enter(platform, alias);
  }
}

const Resolved& MachineIndex::find(const Offer& offer) {
  key_.clear();
  for (const std::string_view part :
       {offer.provider, offer.instance, offer.accelerator, offer.accelerator_count, offer.accelerator_gb}) {
    key_.append(part);
    key_ += '\n';
  }
  const auto found = known_.find(key_);
  if (found != known_.end()) return found->second;
  last_ = resolve(offer);
  if (known_.size() >= most_remembered) return last_;
  return known_.emplace(key_, last_).first->second;
}

Resolved MachineIndex::resolve(const Offer& offer) {
  for (const std::string_view name : {offer.instance, offer.accelerator}) {
    if (tpu_slice(name)) return slice_of_tpu(offer, name);
  }
  if (offer.instance.empty()) return left_out("an accelerator without its machine");
  if (!is_name(offer.instance)) return refused("the instance is no name");
  const std::string provider(offer.provider);
  const auto row =
      platforms_.find(provider + ":" + instance_name(std::string("x:") + std::string(offer.instance)).second);
  if (row != platforms_.end() && row->second == nullptr)
    return refused("the name means several machines of the catalog");
  if (row != platforms_.end()) return listed(offer, *row->second);
  return unlisted(offer, provider);
}

Resolved MachineIndex::listed(const Offer& offer, const Platform& platform) {
  const int count = platform.accelerator_count.value_or(0);
  if (offer.names_accelerators && count > 0) {
    if (offer.accelerator.empty()) return refused("host only: the machine's accelerators are not in this price");
    const auto named = amount_of(offer.accelerator_count);
    if (named && *named != count) {
      return refused("another number of accelerators than in the catalog: per GPU or per node?",
                     fmt::format("{} in the list, {} in the catalog", offer.accelerator_count, count));
    }
    const auto& cards = accelerators(offer);
    const bool other = !platform.accelerator.empty() && !cards.empty() &&
                       std::none_of(cards.begin(), cards.end(),
                                    [&](const Accelerator* card) { return card->id == platform.accelerator; });
    if (other) {
      return refused("another accelerator than in the catalog",
                     fmt::format("{} in the list, {} in the catalog", offer.accelerator, platform.accelerator));
    }
  }
  return add({platform.provider, platform.instance, &platform, platform.accelerator, count, false});
}

Resolved MachineIndex::unlisted(const Offer& offer, const std::string& provider) {
  if (!offer.names_accelerators) return left_out("no machine of the catalog");
  if (offer.accelerator.empty()) return left_out("no accelerator in it");
  const auto count = whole(offer.accelerator_count);
  if (!count) return left_out("a share of an accelerator, or an unknown number of them");
  const auto& cards = accelerators(offer);
  if (cards.size() != 1) return left_out("neither the machine nor (by one name) its accelerator is in the catalog");
  return add({provider, std::string(offer.instance), nullptr, cards.front()->id, *count, false});
}

Resolved MachineIndex::slice_of_tpu(const Offer& offer, std::string_view name) {
  const TpuSlice slice = *tpu_slice(name);
  const Accelerator* card = catalog_.find_accelerator("TPU " + slice.generation);
  if (card == nullptr) return left_out(fmt::format("TPU {} is not in the catalog", slice.generation));
  Machine machine{
      std::string(offer.provider), fmt::format("tpu-{} (per chip)", slice.generation), nullptr, card->id, 1, true};
  for (const Price& price : catalog_.prices) {  // under the name it already has
    if (price.provider != machine.provider || price.unit != "chip-hour" || price.accelerator != card->id) continue;
    machine.instance = price.instance;
    break;
  }
  return add(std::move(machine), slice.chips);
}

Resolved MachineIndex::add(Machine machine, double divisor) {
  const auto [place, added] =
      ids_.emplace(machine.provider + ":" + machine.instance, static_cast<std::uint32_t>(machines_.size()));
  if (added) machines_.push_back(std::move(machine));
  return {place->second, false, "", "", divisor};
}

const std::vector<const Accelerator*>& MachineIndex::accelerators(const Offer& offer) {
  std::string name(offer.accelerator);
  const auto gb = amount_of(offer.accelerator_gb);
  const std::string with_memory = gb && *gb > 0 ? fmt::format("{} {:.0f}GB", name, *gb) : name;
  const auto known = accelerators_.find(with_memory);
  if (known != accelerators_.end()) return known->second;
  static const std::vector<const Accelerator*> none;
  if (accelerators_.size() >= most_cards) return none;  // looking a name up takes long: no list has so many
  auto found = catalog_.accelerators_named(with_memory);
  if (found.empty()) found = catalog_.accelerators_named(name);  // memory sizes of lists are wrong now and then
  return accelerators_.emplace(with_memory, std::move(found)).first->second;
}

}  // namespace claimcheck::catalog_import
