// What a training step makes of the machine: the FLOPs of the model, not those of products alone.
//
// Formula: model TFLOPS of a node = training.tflops of the slowest device x devices that train together in it; the loss
// to communication is in the figure. MFU = training.tflops / the data sheet's dense peak [PaLM, 2022, appendix B].
#pragma once

#include <nlohmann/json.hpp>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// {measurement_id, per_device, devices, tflops, mfu, per_eflop: null}; null where no step was measured on accelerators
// or the figure cannot be true. mfu is null where the catalog has no peak.
nlohmann::json training_json(const Document& document, const Catalog& catalog);

}  // namespace claimcheck
