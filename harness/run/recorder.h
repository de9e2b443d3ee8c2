// Keeps what a run measures: journal first, then the document, then the screen.
#pragma once

#include <string>

#include "harness/result/document.h"
#include "harness/run/journal.h"
#include "harness/run/measure.h"
#include "harness/run/progress.h"
#include "harness/run/signals.h"

namespace claimcheck {

class Recorder : public MeasureObserver {
 public:
  Recorder(Journal& journal, Document& document, Progress& progress, const SignalGuard& signals)
      : journal_(journal), document_(document), progress_(progress), signals_(signals) {}

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
  void tick() override { progress_.tick(); }
  int interrupted() override { return signals_.caught(); }

 private:
  Journal& journal_;
  Document& document_;
  Progress& progress_;
  const SignalGuard& signals_;
};

}  // namespace claimcheck
