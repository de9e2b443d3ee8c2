// What is wrong with a command line, in a sentence a user can act on: what stood there, what was expected, an example,
// or the nearest name that is known. CLI11's own texts name none of these.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace claimcheck::cli {

// Of an error that parsing `arguments` (without the program's name) with `app` ended in.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments);

}  // namespace claimcheck::cli
