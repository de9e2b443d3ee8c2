// A result file may come from a stranger: nothing in it may steer the terminal it is shown on.
#pragma once

#include "harness/result/document.h"
#include "harness/terminal_text.h"  // sanitised_text()

namespace claimcheck {

// Every string of it, keys of objects included.
nlohmann::json sanitised_json(const nlohmann::json& value);
Document sanitised(Document document);

}  // namespace claimcheck
