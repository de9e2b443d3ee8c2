// `claimcheck completion SHELL`: commands, options and what may follow them, for the TAB key.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "harness/catalog/catalog.h"
#include "harness/cli/commands.h"
#include "harness/cli/interface.h"
#include "harness/report/format.h"
#include "harness/result/metrics.h"

namespace claimcheck::cli {
namespace {

using Words = std::vector<std::string>;

Words options_of(const CLI::App& app) {
  Words words;
  for (const CLI::Option* option : app.get_options())
    if (std::string name = long_name(*option); !name.empty()) words.push_back(std::move(name));
  return words;
}

Words children_of(const CLI::App& app) {
  Words words;
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!child->get_group().empty()) words.push_back(child->get_name());
  return words;
}

// What may follow an option or stand as the argument of a command; empty: file names.
Words values_of(const std::string& name) {
  if (name == "--format") return report_format_names();
  if (name == "--profile") return {"quick", "standard", "soak"};
  if (name == "--device") return {"auto", "cuda", "host"};
  if (name == "--term") return {"on_demand", "spot", "reserved_1y", "reserved_3y"};
  Words words;
  if (name == "--instance")
    for (const Platform& platform : load_catalog().platforms)
      if (platform.id.find(' ') == std::string::npos) words.push_back(platform.id);
  if (name == "explain")
    for (const Metric& metric : metrics()) words.push_back(metric.key);
  return words;
}

// Options that take a value, and need one before anything else can be completed.
Words with_value(const CLI::App& app) {
  Words words;
  for (const CLI::Option* option : app.get_options())
    if (std::string name = long_name(*option); !name.empty() && option->get_items_expected_max() > 0)
      words.push_back(std::move(name));
  return words;
}

std::string bash(const CLI::App& app) {
  std::string cases;
  std::string values;
  Words known;
  for (const Command& command : commands_of(app)) {
    Words words = children_of(*command.app);
    const Words options = options_of(*command.app);
    words.insert(words.end(), options.begin(), options.end());
    cases += fmt::format("    '{}') words='{}' ;;\n", command.path, fmt::join(words, " "));
    for (const std::string& option : with_value(*command.app)) {
      if (std::find(known.begin(), known.end(), option) != known.end()) continue;
      known.push_back(option);
      values += fmt::format("    {}) words='{}' ;;\n", option, fmt::join(values_of(option), " "));
    }
  }
  Words paths;
  for (const Command& command : commands_of(app))
    if (!command.path.empty()) paths.push_back("'" + command.path + "'");
  return fmt::format(R"(# Completion of claimcheck for bash: source <(claimcheck completion bash)
_claimcheck() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path='' words='' word next cur prev
  # Instance types have a colon, at which bash breaks words.
  if declare -F _get_comp_words_by_ref >/dev/null; then _get_comp_words_by_ref -n : cur prev; current=$cur previous=$prev; fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    next=${{path:+$path }}$word
    case $next in {}) path=$next ;; esac
  done
  case $previous in
{}    *) case $path in
{}    esac
    [[ $path == explain && $current != -* ]] && words='{}' ;;
  esac
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
  if ((${{#COMPREPLY[@]}} == 0)); then compopt -o default 2>/dev/null; fi
  if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$current"; fi
}}
complete -F _claimcheck claimcheck
)",
                     fmt::join(paths, " | "), values, cases, fmt::join(values_of("explain"), " "));
}

std::string zsh(const CLI::App& app) {
  return "# Completion of claimcheck for zsh: source <(claimcheck completion zsh)\n"
         "autoload -Uz bashcompinit && bashcompinit\n" +
         bash(app);
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

// fish tells which words were seen, not where: "catalog import" is told by both.
std::string condition(const Command& command, const CLI::App& app) {
  if (command.path.empty()) return fmt::format("not __fish_seen_subcommand_from {}", fmt::join(children_of(app), " "));
  const std::size_t blank = command.path.find(' ');
  if (blank == std::string::npos) return "__fish_seen_subcommand_from " + command.path;
  return fmt::format("__fish_seen_subcommand_from {}; and __fish_seen_subcommand_from {}",
                     command.path.substr(0, blank), command.path.substr(blank + 1));
}

std::string fish(const CLI::App& app) {
  std::string out = "# Completion of claimcheck for fish: claimcheck completion fish | source\n";
  for (const Command& command : commands_of(app)) {
    const std::string when = quoted(condition(command, app));
    for (const CLI::App* child : command.app->get_subcommands([](const CLI::App*) { return true; }))
      if (!child->get_group().empty())
        out += fmt::format("complete -c claimcheck -n {} -f -a {} -d {}\n", when, child->get_name(),
                           quoted(child->get_description()));
    for (const CLI::Option* option : command.app->get_options()) {
      const std::string name = long_name(*option);
      if (name.empty()) continue;
      out += fmt::format("complete -c claimcheck -n {} -l {}", when, name.substr(2));
      const Words values = values_of(name);
      if (option->get_items_expected_max() > 0)
        out += values.empty() ? " -r" : fmt::format(" -x -a '{}'", fmt::join(values, " "));
      out += " -d " + quoted(option->get_description()) + "\n";
    }
  }
  return out + fmt::format("complete -c claimcheck -n '__fish_seen_subcommand_from explain' -f -a '{}'\n",
                           fmt::join(values_of("explain"), " "));
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return bash(app);
  if (shell == "zsh") return zsh(app);
  if (shell == "fish") return fish(app);
  throw UserError(fmt::format("completion for '{}' is not known: expected bash, zsh or fish", shell));
}

void add_completion(CLI::App& app, Global& global) {
  CLI::App* command = app.add_subcommand("completion", "Print completions for a shell: bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
  command->footer("Example:\n  source <(claimcheck completion bash)");
  command->callback([&app, shell, &global] {
    fmt::print("{}", completion(app, *shell));
    global.exit_code = ExitCode::ok;
  });
}

}  // namespace claimcheck::cli
