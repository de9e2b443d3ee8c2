// What a price list says in one row, and who takes it. Readers know their format, and nothing of the catalog.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace claimcheck::catalog_import {

enum class Term : std::uint8_t { on_demand, spot, reserved_1y, reserved_3y };
enum class Payment : std::uint8_t { none, no_upfront, partial_upfront, all_upfront };

inline constexpr std::array<std::string_view, 4> term_names = {"on_demand", "spot", "reserved_1y", "reserved_3y"};
inline constexpr std::array<std::string_view, 4> payment_names = {"", "no_upfront", "partial_upfront", "all_upfront"};

// Views live as long as the row.
struct Offer {
  std::string_view provider;
  std::string_view instance;
  std::string_view region;  // as in the list; a zone where `zoned`
  bool zoned = false;
  Term term = Term::on_demand;
  Payment payment = Payment::none;
  double amount = 0;  // per hour of the whole row: effective, upfront payments spread over the term
  std::size_t line = 0;
  // Only of lists that say which accelerators a machine has.
  bool names_accelerators = false;
  std::string_view accelerator;        // empty: the list says that there is none
  std::string_view accelerator_count;  // as in the list
  std::string_view accelerator_gb;     // of one, empty when the list does not say
};

// Takes the rows of one file. A refused row has a price that is not to be trusted; one left out is no price of this
// catalog (a machine without accelerators, another operating system).
class OfferSink {
 public:
  virtual ~OfferSink() = default;
  // The date inside the file, before any offer.
  virtual void dated(std::string_view iso_date, std::size_t line) = 0;
  virtual void offer(const Offer& offer) = 0;
  virtual void refused(std::string_view reason, const Offer& offer) = 0;
  virtual void left_out(std::string_view reason, std::size_t line) = 0;
};

// The text as a number; nothing when it is none or not finite.
std::optional<double> amount_of(std::string_view text);

// "us-central1-a" and "us-central1-ai1a" are in "us-central1", "us-east-1a" in "us-east-1"; anything else is a region
// already.
std::string_view region_of_zone(std::string_view zone);

}  // namespace claimcheck::catalog_import
