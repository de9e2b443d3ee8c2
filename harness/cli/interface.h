// The command line as CLI11 knows it, in the forms other programs read: a manual page and completions for shells. What
// they say comes from the definitions of the commands, so it cannot fall behind.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace claimcheck::cli {

// One command with what may follow it; the first is the program itself.
struct Command {
  const CLI::App* app = nullptr;
  std::string path;  // "catalog import"; empty for the program
};
std::vector<Command> commands_of(const CLI::App& app);

// "--out"; empty for positional arguments and for options that --help hides.
std::string long_name(const CLI::Option& option);

// In roff, section 1: `claimcheck manual | man -l -`.
std::string manual_page(const CLI::App& app, const std::string& version, const std::string& date);

// "bash", "zsh" or "fish". Throws UserError for other shells.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace claimcheck::cli
