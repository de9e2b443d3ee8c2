// The document itself, as this version writes it. Only ASCII, so that no string in it can steer a terminal.
#include "harness/report/format.h"

namespace claimcheck {

std::string render_json(const Document& document, const ReportOptions&) {
  return to_json(document).dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace claimcheck
