// Which machine or card a name means; several that fit are no answer but all are near.
#include <algorithm>
#include <array>
#include <set>

#include "harness/catalog/catalog.h"
#include "harness/catalog/names.h"
#include "harness/nearest.h"

namespace claimcheck {
namespace {

constexpr std::array<std::string_view, 10> form_words = {"sxm",  "sxm2", "sxm4", "sxm5", "sxm6",
                                                         "pcie", "nvl",  "oam",  "se",   "ws"};

void add_words(std::set<std::string>& words, std::string_view text) {
  for (const std::string& word : card_words(text)) words.insert(word);
}

// Every word that may stand in a name of this card.
std::set<std::string> words_of(const Accelerator& accelerator) {
  std::set<std::string> words;
  for (const std::string& text : {accelerator.id, accelerator.name, accelerator.architecture}) add_words(words, text);
  for (const std::string& alias : accelerator.aliases) add_words(words, alias);
  for (const char* field : {"form_factor", "memory_type"}) {
    const auto value = accelerator.record.find(field);
    if (value != accelerator.record.end() && value->is_string()) add_words(words, value->get<std::string>());
  }
  for (const std::string& word : std::set<std::string>(words)) {
    if (word.starts_with("sxm")) words.insert("sxm");
  }
  return words;
}

// The words of the id that name the model, so that "80 GB" alone names nothing.
std::set<std::string> model_words(const Accelerator& accelerator) {
  std::set<std::string> words;
  add_words(words, accelerator.id);
  for (const std::string_view form : form_words) words.erase(std::string(form));
  if (accelerator.memory_gb) words.erase(std::to_string(static_cast<int>(*accelerator.memory_gb)));
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

std::vector<const Accelerator*> spelled(const Catalog& catalog, std::string_view name) {
  const std::string wanted = joined(card_words(name));
  std::vector<const Accelerator*> found;
  const auto same = [&](const std::string& text) { return joined(card_words(text)) == wanted; };
  for (const Accelerator& accelerator : catalog.accelerators) {
    if (wanted.empty()) break;
    if (same(accelerator.id) || same(accelerator.name) ||
        std::any_of(accelerator.aliases.begin(), accelerator.aliases.end(), same)) {
      found.push_back(&accelerator);
    }
  }
  return found;
}

// Cards whose words include all of the name's.
std::vector<const Accelerator*> described(const Catalog& catalog, std::string_view name) {
  const std::vector<std::string> wanted = card_words(name);
  std::vector<const Accelerator*> found;
  for (const Accelerator& accelerator : catalog.accelerators) {
    const std::set<std::string> words = words_of(accelerator);
    const std::set<std::string> models = model_words(accelerator);
    const auto in = [](const std::set<std::string>& set) {
      return [&set](const std::string& word) { return set.count(word) > 0; };
    };
    if (std::all_of(wanted.begin(), wanted.end(), in(words)) && std::any_of(wanted.begin(), wanted.end(), in(models))) {
      found.push_back(&accelerator);
    }
  }
  return found;
}

void add_once(std::vector<std::string>& ids, const std::string& id, std::size_t most) {
  if (ids.size() < most && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

// Spellings and the ids they stand for; nearest() wants words.
using Spellings = std::vector<std::pair<std::string, std::string>>;

void add_nearest(std::vector<std::string>& ids, const std::string& wanted, const Spellings& spellings,
                 std::size_t most) {
  constexpr std::size_t shortest = 3;  // two letters are two edits away from any two
  if (wanted.size() < shortest) return;
  std::vector<std::string> words;
  for (const auto& [spelling, id] : spellings) words.push_back(spelling);
  for (const std::string& word : nearest(wanted, words, words.size())) {
    for (const auto& [spelling, id] : spellings) {
      if (spelling == word) add_once(ids, id, most);
    }
    if (ids.size() == most) return;
  }
}

}  // namespace

std::vector<const Platform*> Catalog::platforms_named(std::string_view name) const {
  std::vector<const Platform*> found;
  for (const Platform& platform : platforms) {
    if (platform.id == name) return {&platform};
  }
  const auto [provider, wanted] = instance_name(name);
  if (wanted.empty()) return found;
  const auto same = [&wanted = wanted](const std::string& text) { return instance_name(text).second == wanted; };
  for (const Platform& platform : platforms) {
    if (!provider.empty() && provider != platform.provider) continue;
    if (same(platform.instance) || std::any_of(platform.aliases.begin(), platform.aliases.end(), same)) {
      found.push_back(&platform);
    }
  }
  return found;
}

std::vector<const Accelerator*> Catalog::accelerators_named(std::string_view name) const {
  for (const Accelerator& accelerator : accelerators) {
    if (accelerator.id == name) return {&accelerator};
  }
  std::vector<const Accelerator*> found = spelled(*this, name);
  return found.empty() ? described(*this, name) : found;
}

const Platform* Catalog::find_platform(std::string_view name) const {
  const std::vector<const Platform*> found = platforms_named(name);
  return found.size() == 1 ? found.front() : nullptr;
}

const Accelerator* Catalog::find_accelerator(std::string_view name) const {
  const std::vector<const Accelerator*> found = accelerators_named(name);
  return found.size() == 1 ? found.front() : nullptr;
}

std::vector<std::string> Catalog::near_platforms(std::string_view name, std::size_t most) const {
  std::vector<std::string> ids;
  for (const Platform* platform : platforms_named(name)) add_once(ids, platform->id, most);
  const auto [provider, wanted] = instance_name(name);
  if (wanted.empty()) return ids;
  Spellings spellings;
  for (const Platform& platform : platforms) {
    if (!provider.empty() && provider != platform.provider) continue;
    spellings.emplace_back(instance_name(platform.instance).second, platform.id);
    for (const std::string& alias : platform.aliases) {
      spellings.emplace_back(instance_name(alias).second, platform.id);
    }
  }
  for (const auto& [spelling, id] : spellings) {  // a family: "p5" for p5.4xlarge
    if (wanted.size() >= 2 && spelling.starts_with(wanted)) add_once(ids, id, most);
  }
  add_nearest(ids, wanted, spellings, most);
  return ids;
}

std::vector<std::string> Catalog::near_accelerators(std::string_view name, std::size_t most) const {
  std::vector<std::string> ids;
  for (const Accelerator* accelerator : accelerators_named(name)) add_once(ids, accelerator->id, most);
  const std::string wanted = joined(card_words(name));
  if (wanted.empty()) return ids;
  Spellings spellings;
  for (const Accelerator& accelerator : accelerators) {
    for (const std::string& text : {accelerator.id, accelerator.name}) {
      spellings.emplace_back(joined(card_words(text)), accelerator.id);
    }
    for (const std::string& alias : accelerator.aliases) {
      spellings.emplace_back(joined(card_words(alias)), accelerator.id);
    }
  }
  add_nearest(ids, wanted, spellings, most);
  return ids;
}

std::vector<const Price*> Catalog::prices_of(const Platform& platform) const {
  std::vector<const Price*> found;
  for (const Price& price : prices) {
    if (price.provider != platform.provider || !price.unusable.empty()) continue;
    const bool own = price.instance == platform.instance;
    const bool of_its_chips =
        price.unit == "chip-hour" && !price.accelerator.empty() && price.accelerator == platform.accelerator;
    if (own || of_its_chips) found.push_back(&price);
  }
  return found;
}

std::optional<double> Catalog::per_usd(std::string_view currency) const {
  if (currency == "USD") return 1.0;
  for (const Currency& known : currencies) {
    if (known.code == currency) return known.per_usd;
  }
  return std::nullopt;
}

}  // namespace claimcheck
