// Claims and prices as users type them, one a line. A claim is read from its own text as the same one.
#include "harness/judge/claim.h"

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "harness/cost/price.h"
#include "harness/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace claimcheck;
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  for (std::string line; std::getline(lines, line);) {
    try {
      const std::string text = to_text(parse_claim(line));
      if (to_text(parse_claim(text)) != text) std::abort();
    } catch (const UserError&) {
    }
    try {
      parse_price(line);
    } catch (const UserError&) {
    }
  }
  return 0;
}
