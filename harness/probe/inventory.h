// What is installed, told from files: Debian's package table, libraries and programs at their usual places, and the
// metadata of Python packages. Nothing is run or imported, and no more than some hundred directories are listed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/probe/parts.h"

namespace claimcheck::probe {

struct Installed {
  std::string name;     // as in harness/judge/software.h
  std::string version;  // empty: there, in a version that no file tells
  std::string where;    // a path, with the names of people left out; or "environment"
};

// Each part reads one kind of place.
std::vector<Installed> installed_packages(const Tree& tree);
std::vector<Installed> installed_files(const Tree& tree, const Environment& environment);
std::vector<Installed> installed_for_python(const Tree& tree, const Environment& environment);

// All three, without repetition.
std::vector<Installed> installed(const Tree& tree, const Environment& environment);

// {name: the newest version, or "present"}
nlohmann::json newest(const std::vector<Installed>& found);
// [{name, version (null), where}], at most 256
nlohmann::json listed(const std::vector<Installed>& found);

// Paths that `pattern` names; each part may hold one '*', or one at each end. At most `most` children of a part with
// '*' are looked at.
std::vector<std::string> expanded(const Tree& tree, std::string_view pattern, std::size_t most);

}  // namespace claimcheck::probe
