// Keeps what a run measures: journal first, then the document, then the screen.
#pragma once

#include <fmt/format.h>

#include <string>

#include "harness/judge/machine.h"
#include "harness/result/document.h"
#include "harness/run/devices.h"
#include "harness/run/journal.h"
#include "harness/run/measure.h"
#include "harness/run/progress.h"
#include "harness/run/signals.h"

namespace claimcheck {

class Recorder : public MeasureObserver {
 public:
  Recorder(Journal& journal, Document& document, Progress& progress, const SignalGuard& signals, bool keep_identifiers)
      : journal_(journal),
        document_(document),
        progress_(progress),
        signals_(signals),
        keep_identifiers_(keep_identifiers) {}

  void begin(const std::string& id, double seconds_left) override {
    journal_.append({{"kind", "begin"}, {"id", id}});
    progress_.begin(id, seconds_left);
  }
  void measured(const Measurement& measurement) override {
    document_.measurements.push_back(measurement);  // before the journal: kept even when the disk is full
    document_.is_virtual = document_.is_virtual || measurement.is_virtual;
    journal_.append({{"kind", "measurement"}, {"measurement", to_json(measurement)}});
    progress_.measured(measurement);
  }
  void found(const Finding& finding) override {
    document_.findings.push_back(finding);
    journal_.append({{"kind", "finding"}, {"finding", to_json(finding)}});
  }
  void finished(const std::string& id, double seconds) override {
    journal_.append({{"kind", "end"}, {"id", id}, {"seconds", seconds}});
    progress_.finished();
  }
  void described(const nlohmann::json& description) override {
    if (!take_description(document_.system, description, keep_identifiers_)) return;
    journal_.append({{"kind", "system"}, {"system", document_.system}});
    const std::string left_out = text_at(document_.system["software"]["worker"], "left_out");
    progress_.note(fmt::format("measuring goes on with {} device{}{}", document_.system["devices"].size(),
                               document_.system["devices"].size() == 1 ? "" : "s",
                               left_out.empty() ? "" : "; without " + left_out));
  }
  void tick() override { progress_.tick(); }
  int interrupted() override { return signals_.caught(); }

 private:
  Journal& journal_;
  Document& document_;
  Progress& progress_;
  const SignalGuard& signals_;
  bool keep_identifiers_;
};

}  // namespace claimcheck
