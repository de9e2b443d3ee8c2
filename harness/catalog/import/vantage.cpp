// instances.json of EC2instances.info and its sisters for Azure and Google: pricing.REGION.SYSTEM.{ondemand, spot_avg,
// reserved{"yrTerm1Standard.noUpfront", ...}}, US dollars an hour as texts. Reserved prices are effective ones: upfront
// payment / hours of the term + price of an hour. The only public way to the reserved prices of AWS.
#include <array>
#include <string>
#include <vector>

#include "harness/catalog/import/formats.h"
#include "harness/catalog/import/json_input.h"

namespace claimcheck::catalog_import {
namespace {

struct Kind {
  std::string_view key;
  Term term;
  Payment payment;
};

constexpr std::array kinds = {
    Kind{"ondemand", Term::on_demand, Payment::none},
    Kind{"spot_avg", Term::spot, Payment::none},
    Kind{"spot", Term::spot, Payment::none},
    Kind{"cud_1yr", Term::reserved_1y, Payment::no_upfront},
    Kind{"cud_3yr", Term::reserved_3y, Payment::no_upfront},
    Kind{"yrTerm1Standard.noUpfront", Term::reserved_1y, Payment::no_upfront},
    Kind{"yrTerm1Standard.partialUpfront", Term::reserved_1y, Payment::partial_upfront},
    Kind{"yrTerm1Standard.allUpfront", Term::reserved_1y, Payment::all_upfront},
    Kind{"yrTerm3Standard.noUpfront", Term::reserved_3y, Payment::no_upfront},
    Kind{"yrTerm3Standard.partialUpfront", Term::reserved_3y, Payment::partial_upfront},
    Kind{"yrTerm3Standard.allUpfront", Term::reserved_3y, Payment::all_upfront},
};

// One instance is kept at a time, since its name may stand behind its prices.
class Instances : public JsonEvents {
 public:
  Instances(Input& input, const FileHints& hints, OfferSink& sink)
      : sink_(sink), provider_(hints.provider.empty() ? "" : provider_name(input, hints.provider)) {}

  void number(const std::vector<std::string>& path, double value, std::size_t line) override {
    if (const Kind* kind = kind_at(path)) price(path, *kind, value, line);
  }

  void text(const std::vector<std::string>& path, const std::string& value, std::size_t line) override {
    if (path.size() == 2 && path[1] == "instance_type") {
      instance_ = value;
      ++instances_;
      return;
    }
    const Kind* kind = kind_at(path);
    if (kind == nullptr || value.empty() || value == "N/A") return;
    const auto amount = amount_of(value);
    if (amount) return price(path, *kind, *amount, line);
    prices_.push_back({path[2], kind, 0, line, false});
  }

  void opened(const std::vector<std::string>& path, std::size_t line) override {
    if (path.size() == 1) {
      instance_.clear();
      prices_.clear();
    }
    const bool system = path.size() == 4 && path[1] == "pricing";
    if (system && path[3] != "linux") sink_.left_out("of another operating system than Linux", line);
  }

  void closed(const std::vector<std::string>& path, std::size_t line) override {
    if (path.size() != 1 || prices_.empty()) return;
    if (instance_.empty()) return sink_.left_out("an instance without a name", line);
    for (const Held& held : prices_) {
      Offer offer;
      offer.provider = provider_;
      offer.instance = instance_;
      offer.region = held.region;
      offer.term = held.kind->term;
      offer.payment = held.kind->payment;
      offer.amount = held.amount;
      offer.line = held.line;
      if (held.is_number) {
        sink_.offer(offer);
      } else {
        sink_.refused("the price is no number", offer);
      }
    }
    prices_.clear();
  }

  std::size_t instances() const { return instances_; }

 private:
  struct Held {
    std::string region;
    const Kind* kind;
    double amount;
    std::size_t line;
    bool is_number;
  };

  // ["", "pricing", region, "linux", key] or [..., "reserved", key].
  static const Kind* kind_at(const std::vector<std::string>& path) {
    const bool direct = path.size() == 5;
    const bool reserved = path.size() == 6 && path[4] == "reserved";
    if ((!direct && !reserved) || path[1] != "pricing" || path[3] != "linux") return nullptr;
    for (const Kind& kind : kinds) {
      if (kind.key == path.back() && kind.key.starts_with("yrTerm") == reserved) return &kind;
    }
    return nullptr;
  }

  void price(const std::vector<std::string>& path, const Kind& kind, double amount, std::size_t line) {
    if (amount == 0 && kind.term != Term::on_demand) return;  // not offered
    prices_.push_back({path[2], &kind, amount, line, true});
  }

  OfferSink& sink_;
  std::string provider_;  // empty: the catalog knows whose instance it is
  std::string instance_;
  std::vector<Held> prices_;
  std::size_t instances_ = 0;
};

}  // namespace

void read_vantage(Input& input, const FileHints& hints, OfferSink& sink) {
  Instances instances(input, hints, sink);
  read_json(input, instances);
  if (instances.instances() == 0) {
    input.fail(input.line_number(),
               "no instance in it; expected a list of {\"instance_type\": ..., \"pricing\": {...}}");
  }
}

}  // namespace claimcheck::catalog_import
