// SkyPilot's catalog: CLOUD/vms.csv, columns in another order for each cloud; a row has the on-demand and the spot
// price of a machine in one zone, US dollars an hour.
#include <cmath>
#include <optional>
#include <string>

#include "harness/catalog/import/csv_rows.h"
#include "harness/catalog/import/formats.h"

namespace claimcheck::catalog_import {
namespace {

constexpr double unknown_tpu_price = 700;  // what the list says where the price of a TPU is not known
constexpr double bid_floor = 0.1;          // of on demand: AWS spot prices that stand there are bid floors

// "catalogs/v8/gcp/vms.csv" is of gcp, "gcp.csv" too.
std::string provider_of(const Input& input, const FileHints& hints) {
  if (!hints.provider.empty()) return provider_name(input, hints.provider);
  const std::filesystem::path& path = input.path();
  const bool in_folder = path.stem() == "vms" && path.has_parent_path();
  return provider_name(input, in_folder ? path.parent_path().filename().string() : path.stem().string());
}

class Rows {
 public:
  Rows(Input& input, const FileHints& hints, OfferSink& sink)
      : sink_(sink),
        provider_(provider_of(input, hints)),
        rows_(input),
        instance_(rows_.column("InstanceType")),
        name_(rows_.column("AcceleratorName")),
        count_(rows_.column("AcceleratorCount")),
        price_(rows_.column("Price")),
        spot_(rows_.find_column("SpotPrice")),
        region_(rows_.column("Region")) {}

  void read() {
    while (rows_.next()) {
      const std::optional<double> on_demand = give(Term::on_demand, rows_.cell(price_), std::nullopt);
      if (spot_) give(Term::spot, rows_.cell(*spot_), on_demand);
    }
  }

 private:
  // Gives the offer on, unless its price cannot be; the number, to hold the other price of the row against.
  std::optional<double> give(Term term, std::string_view text, std::optional<double> on_demand) {
    if (text.empty()) return std::nullopt;
    Offer offer;
    offer.provider = provider_;
    offer.instance = rows_.cell(instance_);
    offer.region = rows_.cell(region_);
    offer.term = term;
    offer.line = rows_.line();
    offer.names_accelerators = true;
    offer.accelerator = rows_.cell(name_);
    offer.accelerator_count = rows_.cell(count_);
    const auto amount = amount_of(text);
    if (!amount) {
      sink_.refused("the price is no number", offer);
      return std::nullopt;
    }
    offer.amount = *amount;
    if (offer.accelerator.starts_with("tpu-") && offer.amount == unknown_tpu_price) {
      sink_.refused("700 stands for an unknown price of a TPU", offer);
      return std::nullopt;
    }
    if (term == Term::spot) {
      if (offer.amount == 0) return std::nullopt;  // marketplaces write 0.00 for "no spot"
      if (on_demand && offer.amount >= *on_demand) {
        sink_.refused("the spot price is not below on demand: a cap, not a market price", offer);
        return std::nullopt;
      }
      if (on_demand && std::abs(offer.amount - bid_floor * *on_demand) < 1e-4 * offer.amount) {
        sink_.refused("the spot price is exactly a tenth of on demand: a bid floor, not a market price", offer);
        return std::nullopt;
      }
    }
    sink_.offer(offer);
    return offer.amount > 0 ? amount : std::nullopt;
  }

  OfferSink& sink_;
  std::string provider_;
  CsvRows rows_;
  std::size_t instance_;
  std::size_t name_;
  std::size_t count_;
  std::size_t price_;
  std::optional<std::size_t> spot_;
  std::size_t region_;
};

}  // namespace

void read_skypilot(Input& input, const FileHints& hints, OfferSink& sink) { Rows(input, hints, sink).read(); }

}  // namespace claimcheck::catalog_import
