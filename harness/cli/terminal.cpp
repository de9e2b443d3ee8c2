// Asked anew each time: a run may change where its output goes.
#include "harness/cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace claimcheck::cli {

bool takes_colour(int descriptor) {
  if (::isatty(descriptor) == 0) return false;
  const char* refused = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  return (refused == nullptr || *refused == '\0') && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace claimcheck::cli
