// What single measurements say about slow devices, processes, nodes and links; slow.cpp makes findings of it. Pure.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/outlier.h"
#include "harness/result/document.h"

namespace claimcheck {

enum class Part { device, process, node };

// One measurement in which something lags. `value` and `usual` are in the unit of the measurement.
struct Symptom {
  const Measurement* measurement = nullptr;
  Part part = Part::device;
  int index = 0;       // of the document's devices, of the process, of the node
  int other = -1;      // the other end of a slow link, else -1
  bool alone = false;  // one of two: which of them is sick is not known
  double value = 0;
  double usual = 0;
  double loss = 0;  // of speed: 0.3 is 30 % slower
};

// The worst case of each metric for each device, process, node or link.
std::vector<Symptom> symptoms_of(const Document& document);

// The document's index of the device that is the `local`-th of `process`; `local` itself where there is one process.
int device_of(const Document& document, int process, int local);

}  // namespace claimcheck
