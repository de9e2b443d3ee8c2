// Gathers offers into one price a machine, region, term and payment, joined to the catalog's own machines: what a list
// says of memory, cards and networks is wrong too often. What cannot be trusted is refused, with reason and place.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/catalog/import/formats.h"

namespace claimcheck::catalog_import {

// A place in the files imported.
struct Place {
  std::uint32_t file = 0;  // index into the files
  std::uint32_t line = 0;
};

// A machine as prices name it.
struct Machine {
  std::string provider;
  std::string instance;
  const Platform* platform = nullptr;  // of the catalog; not all have one
  std::string accelerator;             // id
  int count = 0;                       // accelerators in it
  bool per_chip = false;               // the price is of one chip of a TPU
};

// One list: all files of a format, provider and date are one.
struct Feed {
  std::string format;
  std::string provider;
  std::string as_of;  // empty: undated
  std::string confidence;
  std::string title;
  std::string licence;
};

struct CellKey {
  std::uint32_t machine = 0;
  std::uint32_t region = 0;
  std::uint16_t feed = 0;
  Term term = Term::on_demand;
  Payment payment = Payment::none;
  auto operator<=>(const CellKey&) const = default;
};

struct CellHash {
  std::size_t operator()(const CellKey& key) const noexcept;
};

// Of several rows (zones, repetitions) the lowest counts.
struct Cell {
  double low = 0;
  double high = 0;
  Place place;  // of the lowest
};

struct RefusedRow {
  std::uint16_t reason = 0;  // index into Collected::reasons
  Place place;
  std::string offer;  // "aws:p5.48xlarge us-east-1 spot 5.5"
};

struct LeftOut {
  std::size_t rows = 0;
  std::vector<Place> first;  // a few
};

struct Collected {
  std::vector<std::string> files;  // as given, safe to show
  std::vector<Feed> feeds;
  std::vector<Machine> machines;
  std::vector<std::string> regions;
  std::unordered_map<CellKey, Cell, CellHash> cells;
  std::vector<std::string> reasons;
  std::vector<RefusedRow> refused;
  std::map<std::string, LeftOut> left_out;  // by reason
  std::size_t offers = 0;                   // prices read

  void refuse(std::string_view reason, const Place& place, std::string offer);
};

// "USD"; lists of Chinese regions give yuan without saying so.
std::string currency_of(const std::string& provider, const std::string& region);

class MachineIndex;

class Collector : public OfferSink {
 public:
  // `today` in ISO form: no date of a list lies behind it.
  Collector(const Catalog& catalog, std::string today);
  ~Collector() override;

  // Reads one file. Throws UserError; what was collected before stays.
  void read(const std::filesystem::path& file, std::string_view format, const FileHints& hints,
            const std::string& as_of);
  Collected take();

  void dated(std::string_view iso_date, std::size_t line) override;
  void offer(const Offer& offer) override;
  void refused(std::string_view reason, const Offer& offer) override;
  void left_out(std::string_view reason, std::size_t line) override;

 private:
  Place place(std::size_t line) const;
  void check_provider(std::string_view provider);
  std::uint16_t feed_of(const std::string& provider);
  std::uint32_t region_of(const Offer& offer);

  std::string today_;
  std::set<std::string, std::less<>> providers_;  // of the catalog
  Collected collected_;
  std::unique_ptr<MachineIndex> machines_;
  Input* input_ = nullptr;  // of the file being read
  const Format* format_ = nullptr;
  std::string as_of_;
  std::string as_of_given_;
  bool any_in_file_ = false;
  bool provider_given_ = false;
  std::string last_provider_;
  std::unordered_map<std::string, std::uint16_t> feed_ids_;  // by provider, of the file being read
  std::unordered_map<std::string, std::uint32_t> region_ids_;
  std::string scratch_;  // a key to look up, without a new string each time
};

}  // namespace claimcheck::catalog_import
