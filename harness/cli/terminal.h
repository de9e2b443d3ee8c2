// What stands at the other end of an output stream.
#pragma once

namespace claimcheck::cli {

// A terminal that shows colour: isatty(), TERM is not "dumb", and NO_COLOR (https://no-color.org) is unset or empty.
bool takes_colour(int descriptor);

}  // namespace claimcheck::cli
