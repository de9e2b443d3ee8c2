#include "harness/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include "harness/nearest.h"

namespace claimcheck::cli {
namespace {

// What a value name of the help means.
struct Kind {
  std::string_view name, expected, example;
};

constexpr std::array kinds = {
    Kind{"N", "a whole number", "8"},
    Kind{"N,N,...", "whole numbers with commas between them", "1,2,4,8"},
    Kind{"AMOUNT", "a plain number, no currency sign and no thousands separator", "200000"},
    Kind{"PRICE", "a plain number, no currency sign", "2.49"},
    Kind{"SHARE", "a share from 0 to 1, no percent sign", "0.9"},
    Kind{"RATIO", "a plain number", "1.3"},
    Kind{"SECONDS", "seconds, as a plain number", "0.5"},
    Kind{"GBITS", "Gb/s, as a plain number", "3200"},
    Kind{"MIB", "MiB, as a plain number", "25"},
    Kind{"TOKENS", "a whole number", "4096"},
    Kind{"BYTES", "a size with or without a unit", "64MiB"},
};

// The command that was being parsed.
const CLI::App& active(const CLI::App& app) {
  const CLI::App* command = &app;
  for (auto below = command->get_subcommands(); !below.empty(); below = command->get_subcommands())
    command = below.front();
  return *command;
}

std::string path_of(const CLI::App& command) {
  const CLI::App* above = command.get_parent();
  return above == nullptr ? command.get_name() : path_of(*above) + " " + command.get_name();
}

// "judge: ", before what is said of one command; nothing for the program itself, which says its name anyway.
std::string place(const CLI::App& command) {
  return command.get_parent() == nullptr ? "" : path_of(command).substr(path_of(command).find(' ') + 1) + ": ";
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(below->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options([](const CLI::Option*) { return true; }))
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    if (const CLI::Option* option = app->get_option_no_throw(name)) return option;
  return nullptr;
}

// The word where a command was expected: the first behind the commands that were understood which is no option.
std::string word_for_command(const CLI::App& app, const CLI::App& command, const std::vector<std::string>& arguments) {
  std::size_t understood = 0;
  for (const CLI::App* at = &command; at != &app && at != nullptr; at = at->get_parent()) ++understood;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.starts_with("-")) {
      const CLI::Option* option = find_option(command, argument);
      if (option != nullptr && option->get_items_expected_min() > 0) ++i;  // its value
      continue;
    }
    if (understood == 0) return argument;
    --understood;
  }
  return {};
}

std::string missing_command(const CLI::App& app, const CLI::App& command, const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = command_names(command);
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  const std::string word = word_for_command(app, command, arguments);
  if (word.empty()) return fmt::format("{}expected a command: {}", place(command), all);
  const std::string near = quoted_choice(nearest(word, names, 2));
  return near.empty()
             ? fmt::format("{}'{}' is no command; expected one of {}", place(command), word, all)
             : fmt::format("{}'{}' is no command; did you mean {}? (all: {})", place(command), word, near, all);
}

std::string unexpected(const CLI::App& command, const std::string& text) {
  const std::size_t colon = text.find(": ");
  const std::string list = colon == std::string::npos ? text : text.substr(colon + 2);
  // An unknown option leaves its value, too, in any order.
  const std::size_t option = list.starts_with("-") ? 0 : list.find(" -") == std::string::npos ? 0 : list.find(" -") + 1;
  const std::string word = list.substr(option, list.find(' ', option) - option);
  if (!word.starts_with("-")) return fmt::format("{}'{}' is one argument too many", place(command), word);
  const std::string near = quoted_choice(nearest(word.substr(0, word.find('=')), option_names(command), 2));
  return fmt::format("{}no option is called {}{}", place(command), word,
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

std::string plain_number(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

// " from 1 to 1000"; an end that only says how large a number can be is left out.
std::string range_text(const std::string& least, const std::string& most) {
  constexpr std::size_t meant = 10;  // digits
  const std::string end = plain_number(most);
  return end.size() > meant ? fmt::format(" of at least {}", plain_number(least))
                            : fmt::format(" from {} to {}", plain_number(least), end);
}

// "expected a whole number from 1 to 1000, such as 8".
std::string expected_of(const CLI::Option& option, const std::string& range) {
  const std::string type = option.get_type_name();
  const std::string name = type.substr(0, type.find_first_of(" :"));
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& one) { return one.name == name; });
  if (kind == kinds.end()) return fmt::format("expected {}{} ({})", name, range, option.get_description());
  const std::string usual = option.get_default_str();
  return fmt::format("expected {}{}, such as {}", kind->expected, range, usual.empty() ? kind->example : usual);
}

std::string bad_value(const CLI::App& command, const std::string& name, const std::string& value,
                      const std::string& range) {
  const CLI::Option* option = find_option(command, name);
  if (option == nullptr) return fmt::format("{} '{}' is not understood", name, value);
  return fmt::format("{} '{}': {}", name, value, expected_of(*option, range));
}

// The value that stood behind an option.
std::string value_of(const std::string& name, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == name && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with(name + "=")) return arguments[i].substr(name.size() + 1);
  }
  return {};
}

std::string sentence(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error,
                     const std::vector<std::string>& arguments) {
  const std::string text = error.what();
  std::smatch found;
  if (error.get_name() == "RequiredError") {
    if (text.find("subcommand") != std::string::npos) return missing_command(app, command, arguments);
    const std::string name = text.substr(0, text.find(' '));
    const CLI::Option* option = find_option(command, name);
    return fmt::format("{}{}{}", place(command), text,
                       option == nullptr ? "" : fmt::format(": {}", option->get_description()));
  }
  if (text.starts_with("The following argument")) return unexpected(command, text);
  if (error.get_name() == "ConversionError" &&
      std::regex_match(text, found, std::regex("Could not convert: (\\S+) = (.*)")))
    return bad_value(command, found[1], found[2], "");
  if (error.get_name() == "ValidationError") {
    const std::string name = text.substr(0, text.find(':'));
    const std::string value = value_of(name, arguments);  // as typed; CLI11 has what a size was made of
    if (std::regex_search(text, found, std::regex(": Value (.*) not in range (.*) to (.*)")))
      return bad_value(command, name, value.empty() ? found[1].str() : value, range_text(found[2], found[3]));
    if (!value.empty()) return bad_value(command, name, value, "");
  }
  if (error.get_name() == "ArgumentMismatch") {
    const std::string name = text.substr(0, text.find(':'));
    if (const CLI::Option* option = find_option(command, name);
        option != nullptr && option->get_items_expected_min() > 0)
      return fmt::format("{}: its value {} is missing ({})", name, option->get_type_name(), option->get_description());
  }
  return text;
}

}  // namespace

std::string usage_text(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  const CLI::App& command = active(app);
  return fmt::format("{} (see `{} --help`)", sentence(app, command, error, arguments), path_of(command));
}

}  // namespace claimcheck::cli
