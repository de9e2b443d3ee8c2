// `claimcheck manual`: the manual page, written from the definitions of the commands.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <sstream>

#include "harness/cli/commands.h"
#include "harness/cli/interface.h"

namespace claimcheck::cli {
namespace {

// A text line of roff: backslashes and hyphens as they are, no request at its beginning.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\n') {
      out += "\n.br\n";
    } else {
      out += c;
    }
  }
  if (!out.empty() && (out.front() == '.' || out.front() == '\'')) out.insert(0, "\\&");
  return out;
}

// Lines as they stand.
std::string verbatim(const std::string& text) {
  std::string out = ".nf\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += roff(line) + "\n";
  return out + ".fi\n";
}

bool hidden(const CLI::Option& option) { return option.get_group().empty(); }

std::string option_text(const CLI::Option& option) {
  std::string name = option.get_positional() ? option.get_name(true) : option.get_name(false, true);
  std::string out = ".TP\n\\fB" + roff(name) + "\\fR";
  if (!option.get_type_name().empty() && !option.get_positional())
    out += " \\fI" + roff(option.get_type_name()) + "\\fR";
  out += "\n" + roff(option.get_description());
  if (!option.get_default_str().empty() && option.get_default_str() != "[]")
    out += roff(" [" + option.get_default_str() + "]");
  return out + "\n";
}

std::string options_text(const CLI::App& app) {
  std::string out;
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    if (hidden(*option)) continue;
    if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end())
      groups.push_back(option->get_group());
  }
  for (const std::string& group : groups) {
    if (groups.size() > 1) out += ".PP\n\\fI" + roff(group) + "\\fR\n";
    for (const CLI::Option* option : app.get_options())
      if (!hidden(*option) && option->get_group() == group) out += option_text(*option);
  }
  return out;
}

// Exit codes and examples stand in the footers.
std::string footer_text(const CLI::App& app) {
  const std::string footer = app.get_footer();
  return footer.empty() ? "" : ".PP\n" + verbatim(footer);
}

}  // namespace

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> found = {{&app, ""}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Command parent = found[i];
    for (const CLI::App* child : parent.app->get_subcommands([](const CLI::App*) { return true; })) {
      if (child->get_group().empty()) continue;
      found.push_back({child, parent.path.empty() ? child->get_name() : parent.path + " " + child->get_name()});
    }
  }
  return found;
}

std::string long_name(const CLI::Option& option) {
  return option.get_lnames().empty() || hidden(option) ? "" : "--" + option.get_lnames().front();
}

std::string manual_page(const CLI::App& app, const std::string& version, const std::string& date) {
  std::string out = fmt::format(".TH CLAIMCHECK 1 \"{}\" \"claimcheck {}\" \"User Commands\"\n", date, version);
  out += ".SH NAME\nclaimcheck \\- check what a rented GPU machine does against what was sold\n";
  out += ".SH SYNOPSIS\n.B claimcheck\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n";
  out += ".SH DESCRIPTION\n" + roff(app.get_description()) + "\n";
  out += ".SH OPTIONS\nBefore or after any command.\n" + options_text(app) + ".SH COMMANDS\n";
  for (const Command& command : commands_of(app)) {
    if (command.path.empty()) continue;
    out += ".SS claimcheck " + roff(command.path) + "\n" + roff(command.app->get_description()) + "\n";
    out += options_text(*command.app) + footer_text(*command.app);
  }
  out += ".SH EXIT STATUS AND EXAMPLES\n" + footer_text(app);
  out +=
      ".SH FILES\n.TP\n\\fIclaimcheck\\-results/\\fR\nA folder for each run: result.json, report.html, journal.jsonl, "
      "worker.log.\n";
  return out;
}

void add_manual(CLI::App& app, Global& global) {
  CLI::App* command = app.add_subcommand("manual", "Print the manual page: `claimcheck manual | man -l -`");
  command->callback([&app, &global] {
    fmt::print("{}", manual_page(app, CLAIMCHECK_VERSION, today()));
    global.exit_code = ExitCode::ok;
  });
}

}  // namespace claimcheck::cli
