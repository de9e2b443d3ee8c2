#include "harness/catalog/import/collect.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/catalog/import/machines.h"
#include "harness/catalog/record.h"
#include "harness/error.h"
#include "harness/terminal_text.h"

namespace claimcheck::catalog_import {
namespace {

constexpr std::size_t most_prices = 200000;    // of one import: more would be no list of machine types
constexpr std::size_t most_refused = 1000000;  // rows kept to be shown; all are counted
constexpr std::size_t first_places = 5;
constexpr double dearest = 1e5;  // an hour; the dearest node of the catalog costs a few hundred

std::string shown(const Offer& offer) {
  return sanitised_text(fmt::format("{}{}{} {} {}{}{} {}", offer.provider, offer.provider.empty() ? "" : ":",
                                    offer.instance.empty() ? offer.accelerator : offer.instance, offer.region,
                                    term_names[static_cast<std::size_t>(offer.term)],
                                    offer.payment == Payment::none ? "" : " ",
                                    payment_names[static_cast<std::size_t>(offer.payment)], offer.amount));
}

// What a row says on its own that cannot be.
std::string_view fault_of(const Offer& offer) {
  if (offer.amount <= 0) return "a price of 0 or less: not sold by the hour, or not known";
  if (offer.amount > dearest) return "over 100,000 an hour";
  if (offer.region.size() > 64 || sanitised_text(offer.region) != offer.region) return "the region is no name";
  return "";
}

}  // namespace

std::size_t CellHash::operator()(const CellKey& key) const noexcept {
  std::uint64_t bits = (std::uint64_t{key.machine} << 32) | key.region;
  bits ^= (std::uint64_t{key.feed} << 16 | std::uint64_t(key.term) << 8 | std::uint64_t(key.payment)) *
          std::uint64_t{0x9E3779B97F4A7C15};
  bits ^= bits >> 31;  // mixing steps of SplitMix64
  bits *= std::uint64_t{0xBF58476D1CE4E5B9};
  return bits ^ (bits >> 29);
}

void Collected::refuse(std::string_view reason, const Place& place, std::string offer) {
  const auto known = std::find(reasons.begin(), reasons.end(), reason);
  const auto id = static_cast<std::uint16_t>(known - reasons.begin());
  if (known == reasons.end()) reasons.emplace_back(reason);
  if (refused.size() < most_refused) refused.push_back({id, place, std::move(offer)});
}

std::string currency_of(const std::string& provider, const std::string& region) {
  if (provider == "alibaba" || provider == "tencent" || provider == "huawei") return "CNY";
  return provider == "aws" && region.starts_with("cn-") ? "CNY" : "USD";
}

Collector::Collector(const Catalog& catalog, std::string today)
    : today_(std::move(today)), machines_(std::make_unique<MachineIndex>(catalog, collected_.machines)) {
  for (const Platform& platform : catalog.platforms) providers_.insert(platform.provider);
  for (const Price& price : catalog.prices) providers_.insert(price.provider);
}

Collector::~Collector() = default;

void Collector::read(const std::filesystem::path& file, std::string_view format, const FileHints& hints,
                     const std::string& as_of) {
  Input input(file);
  input_ = &input;
  format_ = &format_of(input, format);
  as_of_ = as_of;
  as_of_given_ = as_of;
  any_in_file_ = false;
  provider_given_ = !hints.provider.empty();
  last_provider_.clear();
  feed_ids_.clear();
  collected_.files.push_back(input.name());
  format_->read(input, hints, *this);
  input_ = nullptr;
}

Collected Collector::take() { return std::move(collected_); }

Place Collector::place(std::size_t line) const {
  return {static_cast<std::uint32_t>(collected_.files.size() - 1), static_cast<std::uint32_t>(line)};
}

// A file name is no proof of a provider: a typing mistake would found a new one.
void Collector::check_provider(std::string_view provider) {
  if (provider == last_provider_) return;
  if (!provider_given_ && providers_.count(provider) == 0) {
    throw UserError(
        fmt::format("{}: the catalog knows no provider \"{}\"; --provider says whose prices these are ({}, or "
                    "a new one)",
                    input_->name(), provider, fmt::join(providers_, ", ")));
  }
  last_provider_ = provider;
}

void Collector::dated(std::string_view iso_date, std::size_t line) {
  if (!is_date(iso_date) || iso_date.size() != 10) input_->fail(line, "the date of the list is not YYYY-MM-DD");
  if (any_in_file_) input_->fail(line, "the date of the list stands behind prices; expected it before them");
  if (iso_date > today_) {
    input_->fail(line, fmt::format("the list says it is of {}, after today ({})", iso_date, today_));
  }
  if (!as_of_given_.empty() && as_of_given_ != iso_date) {
    input_->fail(line, fmt::format("the list says it is of {}; leave --as-of {} away", iso_date, as_of_given_));
  }
  as_of_ = iso_date;
}

std::uint16_t Collector::feed_of(const std::string& provider) {
  const auto known = feed_ids_.find(provider);
  if (known != feed_ids_.end()) return known->second;
  auto& feeds = collected_.feeds;
  auto feed = std::find_if(feeds.begin(), feeds.end(), [&](const Feed& other) {
    return other.format == format_->name && other.provider == provider && other.as_of == as_of_;
  });
  if (feed == feeds.end()) {
    if (feeds.size() >= 1000) throw UserError("over 1000 lists of different providers and dates in one import");
    feeds.push_back({std::string(format_->name), provider, as_of_, std::string(format_->confidence),
                     std::string(format_->title), std::string(format_->licence)});
    feed = feeds.end() - 1;
  }
  return feed_ids_[provider] = static_cast<std::uint16_t>(feed - feeds.begin());
}

// Unset (no region) counts as everywhere.
std::uint32_t Collector::region_of(const Offer& offer) {
  const std::string_view region = offer.zoned ? region_of_zone(offer.region) : offer.region;
  scratch_.assign(region.empty() ? "all" : region);
  const auto [known, added] = region_ids_.emplace(scratch_, static_cast<std::uint32_t>(collected_.regions.size()));
  if (added) collected_.regions.push_back(scratch_);
  return known->second;
}

void Collector::offer(const Offer& offer) {
  any_in_file_ = true;
  ++collected_.offers;
  if (!offer.provider.empty()) check_provider(offer.provider);
  const Resolved& resolved = machines_->find(offer);
  if (!resolved.why.empty()) {
    if (!resolved.refused) return left_out(resolved.why, offer.line);
    const std::string detail = resolved.detail.empty() ? "" : " (" + sanitised_text(resolved.detail) + ")";
    return collected_.refuse(resolved.why, place(offer.line), shown(offer) + detail);
  }
  if (const std::string_view fault = fault_of(offer); !fault.empty()) {
    Offer named = offer;
    named.provider = collected_.machines[resolved.machine].provider;
    return refused(fault, named);
  }
  const std::uint16_t feed = feed_of(collected_.machines[resolved.machine].provider);
  const CellKey key{resolved.machine, region_of(offer), feed, offer.term, offer.payment};
  const double amount = offer.amount / resolved.divisor;
  const auto [cell, added] = collected_.cells.try_emplace(key, Cell{amount, amount, place(offer.line)});
  if (added && collected_.cells.size() > most_prices) {
    input_->fail(offer.line, fmt::format("over {} different prices; import the lists of fewer providers", most_prices));
  }
  if (amount < cell->second.low) {
    cell->second.low = amount;
    cell->second.place = place(offer.line);
  }
  cell->second.high = std::max(cell->second.high, amount);
}

void Collector::refused(std::string_view reason, const Offer& offer) {
  any_in_file_ = true;
  collected_.refuse(reason, place(offer.line), shown(offer));
}

void Collector::left_out(std::string_view reason, std::size_t line) {
  LeftOut& entry = collected_.left_out[std::string(reason)];
  ++entry.rows;
  if (entry.first.size() < first_places) entry.first.push_back(place(line));
}

}  // namespace claimcheck::catalog_import
