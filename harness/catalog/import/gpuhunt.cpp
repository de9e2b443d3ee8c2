// gpuhunt's catalog: one CSV file a provider, which names the file; a row is an offer, on demand or spot, US dollars an
// hour of the whole machine.
#include <string>

#include "harness/catalog/import/csv_rows.h"
#include "harness/catalog/import/formats.h"

namespace claimcheck::catalog_import {
namespace {

bool is_true(std::string_view text) { return text == "True" || text == "true"; }
bool is_false(std::string_view text) { return text == "False" || text == "false" || text.empty(); }

}  // namespace

void read_gpuhunt(Input& input, const FileHints& hints, OfferSink& sink) {
  CsvRows rows(input);
  const std::size_t instance = rows.column("instance_name");
  const std::size_t location = rows.column("location");
  const std::size_t price = rows.column("price");
  const std::size_t count = rows.column("gpu_count");
  const std::size_t name = rows.column("gpu_name");
  const std::size_t memory = rows.column("gpu_memory");
  const std::size_t spot = rows.column("spot");
  const auto provider_column = rows.find_column("provider");  // newer files of several providers
  std::string provider;
  if (!hints.provider.empty() || !provider_column) {
    provider = provider_name(input, hints.provider.empty() ? input.path().stem().string() : hints.provider);
  }
  std::string last_word;
  while (rows.next()) {
    if (provider_column && hints.provider.empty() && (provider.empty() || rows.cell(*provider_column) != last_word)) {
      last_word = rows.cell(*provider_column);
      provider = provider_name(input, last_word);
    }
    if (rows.cell(price).empty()) continue;
    Offer offer;
    offer.provider = provider;
    offer.instance = rows.cell(instance);
    offer.region = rows.cell(location);
    offer.zoned = true;
    offer.term = is_true(rows.cell(spot)) ? Term::spot : Term::on_demand;
    offer.line = rows.line();
    offer.names_accelerators = true;
    offer.accelerator = rows.cell(count) == "0" ? std::string_view() : rows.cell(name);
    offer.accelerator_count = rows.cell(count);
    offer.accelerator_gb = rows.cell(memory);
    if (!is_true(rows.cell(spot)) && !is_false(rows.cell(spot))) {
      input.fail(rows.line(), "the column spot is neither True nor False");
    }
    const auto amount = amount_of(rows.cell(price));
    if (!amount) {
      sink.refused("the price is no number", offer);
      continue;
    }
    offer.amount = *amount;
    sink.offer(offer);
  }
}

}  // namespace claimcheck::catalog_import
