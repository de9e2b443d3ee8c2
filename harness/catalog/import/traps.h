// Prices that look like prices and are none, found by comparing the rows of one import with each other and with the
// catalog. What the rows say on their own is refused while collecting.
#pragma once

#include "harness/catalog/catalog.h"
#include "harness/catalog/import/collect.h"

namespace claimcheck::catalog_import {

// Takes such prices out of `collected` and lists them as refused:
// - a spot price not below on demand of the same machine and region (a cap), or exactly a tenth of it (a bid floor)
// - on Azure, a price that is another one plus 0.046 an hour and vCPU: the meter of Windows
// - on Alibaba Cloud, a size whose price per card is under three quarters of its family's (the list has halved ones)
void refuse_traps(Collected& collected, const Catalog& catalog);

}  // namespace claimcheck::catalog_import
