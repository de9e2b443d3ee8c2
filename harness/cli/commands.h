// The commands. Each file in harness/cli/ adds one to the application; its callback stores the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/error.h"

namespace claimcheck::cli {

// Options that stand before or after any command.
struct Global {
  std::optional<std::filesystem::path> catalog_directory;  // --catalog DIR
  std::vector<std::string> arguments;                      // as typed, without the program's name
  ExitCode exit_code = ExitCode::ok;                       // of the command that ran
};

void add_probe(CLI::App& app, Global& global);
void add_preflight(CLI::App& app, Global& global);
void add_list(CLI::App& app, Global& global);
void add_run(CLI::App& app, Global& global);
void add_judge(CLI::App& app, Global& global);
void add_cost(CLI::App& app, Global& global);
void add_scale(CLI::App& app, Global& global);
void add_advise(CLI::App& app, Global& global);
void add_import(CLI::App& app, Global& global);
void add_report(CLI::App& app, Global& global);
void add_compare(CLI::App& app, Global& global);
void add_history(CLI::App& app, Global& global);
void add_catalog(CLI::App& app, Global& global);
// Its subcommands.
void add_catalog_claims(CLI::App& catalog, Global& global);
void add_catalog_coverage(CLI::App& catalog, Global& global);
void add_explain(CLI::App& app, Global& global);
void add_manual(CLI::App& app, Global& global);              // of all commands added before or after it
void add_completion(CLI::App& app, Global& global);          // likewise
void add_catalog_import(CLI::App& catalog, Global& global);  // below add_catalog()

std::string today();  // by the clock, UTC: "2026-11-30"

}  // namespace claimcheck::cli
