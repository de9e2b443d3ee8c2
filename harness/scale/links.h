// What kind of links the catalog says an accelerator has. Pure.
#pragma once

#include "harness/catalog/catalog.h"

namespace claimcheck::scale {

bool has_nvlink(const Accelerator& accelerator);

// NVLink by a bridge, which joins two cards and no more.
bool is_bridged(const Accelerator& accelerator);

// An accelerator whose switch adds up (NVLS): Hopper and newer behind an NVSwitch.
bool switch_adds(const Accelerator& accelerator);

}  // namespace claimcheck::scale
