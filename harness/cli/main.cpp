// The `claimcheck` command. Errors leave as one sentence on stderr and the exit code of harness/error.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "harness/cli/commands.h"
#include "harness/cli/usage.h"
#include "harness/terminal_text.h"

namespace {

// An answer that could not be written is none.
int exit_code(claimcheck::ExitCode code) {
  errno = 0;
  if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || code != claimcheck::ExitCode::ok) {
    return static_cast<int>(code);
  }
  std::fprintf(stderr, "claimcheck: the answer could not be written to standard output: %s\n", std::strerror(errno));
  return static_cast<int>(claimcheck::ExitCode::incomplete);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace claimcheck;
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is then an error of the write, with its reason
  cli::Global global;
  global.arguments.assign(argv + 1, argv + argc);
  CLI::App app{"claimcheck measures a rented GPU machine, judges what its seller claims, and prices a useful FLOP.",
               "claimcheck"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "claimcheck " CLAIMCHECK_VERSION);
  app.option_defaults()->always_capture_default();
  app.fallthrough();
  app.add_option("--catalog", global.catalog_directory, "Use this catalog directory instead of the built-in one")
      ->type_name("DIR");
  app.footer(
      "Examples:\n"
      "  claimcheck run --profile quick --price 2.49/gpu-hour\n"
      "  claimcheck judge claimcheck-results/*/result.json --claim 'memory.triad.gbps>=2900'\n"
      "Exit codes: 0 everything asked for holds, 1 a claim is not met, 2 bad usage or input, 3 no usable device,\n"
      "            4 something asked for was not measured or stays open.");
  cli::add_run(app, global);
  cli::add_probe(app, global);
  cli::add_preflight(app, global);
  cli::add_list(app, global);
  cli::add_judge(app, global);
  cli::add_cost(app, global);
  cli::add_scale(app, global);
  cli::add_advise(app, global);
  cli::add_import(app, global);
  cli::add_report(app, global);
  cli::add_compare(app, global);
  cli::add_history(app, global);
  cli::add_catalog(app, global);
  cli::add_explain(app, global);
  cli::add_manual(app, global);
  cli::add_completion(app, global);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "claimcheck: {}\n", sanitised_text(cli::usage_text(app, error, global.arguments)));
    return static_cast<int>(ExitCode::usage);
  } catch (const UserError& error) {
    fmt::print(stderr, "claimcheck: {}\n", sanitised_text(error.what()));
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "claimcheck: unexpected error: {}. Please report it with the command you ran.\n",
               sanitised_text(error.what()));
    return static_cast<int>(ExitCode::incomplete);
  }
  return exit_code(global.exit_code);
}
