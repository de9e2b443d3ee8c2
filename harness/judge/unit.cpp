#include "harness/judge/unit.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace claimcheck {
namespace {

struct Unit {
  std::string_view name;
  std::string_view dimension;
  double factor;  // to the dimension's base: byte, byte/s, FLOP/s, operation/s, second, 1, IO/s
};

constexpr std::array units = {
    Unit{"B", "size", 1},
    Unit{"kB", "size", 1e3},
    Unit{"MB", "size", 1e6},
    Unit{"GB", "size", 1e9},
    Unit{"TB", "size", 1e12},
    Unit{"KiB", "size", 1024.0},
    Unit{"MiB", "size", 1048576.0},
    Unit{"GiB", "size", 1073741824.0},
    Unit{"TiB", "size", 1099511627776.0},
    Unit{"B/s", "bytes", 1},
    Unit{"kB/s", "bytes", 1e3},
    Unit{"MB/s", "bytes", 1e6},
    Unit{"GB/s", "bytes", 1e9},
    Unit{"TB/s", "bytes", 1e12},
    Unit{"KiB/s", "bytes", 1024.0},
    Unit{"MiB/s", "bytes", 1048576.0},
    Unit{"GiB/s", "bytes", 1073741824.0},
    Unit{"TiB/s", "bytes", 1099511627776.0},
    Unit{"Mb/s", "bytes", 1e6 / 8},
    Unit{"Gb/s", "bytes", 1e9 / 8},
    Unit{"Tb/s", "bytes", 1e12 / 8},
    Unit{"GFLOPS", "flop", 1e9},
    Unit{"TFLOPS", "flop", 1e12},
    Unit{"PFLOPS", "flop", 1e15},
    Unit{"EFLOPS", "flop", 1e18},
    Unit{"GOPS", "operations", 1e9},
    Unit{"TOPS", "operations", 1e12},
    Unit{"POPS", "operations", 1e15},
    Unit{"ns", "time", 1e-9},
    Unit{"us", "time", 1e-6},
    Unit{"ms", "time", 1e-3},
    Unit{"s", "time", 1},
    Unit{"min", "time", 60},
    Unit{"1", "ratio", 1},
    Unit{"%", "ratio", 0.01},
    Unit{"tokens/s", "tokens", 1},
    Unit{"samples/s", "samples", 1},
    Unit{"IOPS", "io", 1},
    Unit{"kIOPS", "io", 1e3},
    Unit{"MIOPS", "io", 1e6},
};

struct Alias {
  std::string_view text;
  std::string_view unit;
};

// "gbps" is not here on purpose: in the field's mouth it is bits, in our metric keys it is bytes.
constexpr std::array aliases = {
    Alias{"GBps", "GB/s"},      Alias{"MBps", "MB/s"},      Alias{"TBps", "TB/s"},      Alias{"GiBps", "GiB/s"},
    Alias{"Mbps", "Mb/s"},      Alias{"Gbps", "Gb/s"},      Alias{"Tbps", "Tb/s"},      Alias{"Mbit/s", "Mb/s"},
    Alias{"Gbit/s", "Gb/s"},    Alias{"Tbit/s", "Tb/s"},    Alias{"GFLOP/s", "GFLOPS"}, Alias{"TFLOP/s", "TFLOPS"},
    Alias{"PFLOP/s", "PFLOPS"}, Alias{"EFLOP/s", "EFLOPS"}, Alias{"TOP/s", "TOPS"},     Alias{"\xC2\xB5s", "us"},
    Alias{"\xCE\xBCs", "us"},   Alias{"usec", "us"},        Alias{"msec", "ms"},        Alias{"seconds", "s"},
    Alias{"second", "s"},       Alias{"sec", "s"},          Alias{"percent", "%"},      Alias{"ratio", "1"},
};

bool equal_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char left, unsigned char right) { return std::tolower(left) == std::tolower(right); });
}

const Unit* unit_named(std::string_view name) {
  const auto found = std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == name; });
  return found == units.end() ? nullptr : &*found;
}

// Adds what `text` may mean when case is ignored; a second meaning makes the text ambiguous.
void meaning_without_case(std::string_view text, std::string_view spelling, std::string_view unit,
                          std::vector<std::string_view>& meanings) {
  if (!equal_without_case(text, spelling)) return;
  if (std::find(meanings.begin(), meanings.end(), unit) == meanings.end()) meanings.push_back(unit);
}

}  // namespace

std::string_view find_unit(std::string_view text) {
  if (const Unit* unit = unit_named(text)) return unit->name;
  for (const Alias& alias : aliases) {
    if (alias.text == text) return alias.unit;
  }
  std::vector<std::string_view> meanings;
  for (const Unit& unit : units) meaning_without_case(text, unit.name, unit.name, meanings);
  for (const Alias& alias : aliases) meaning_without_case(text, alias.text, alias.unit, meanings);
  return meanings.size() == 1 ? meanings.front() : std::string_view{};
}

std::optional<double> convert(double value, std::string_view from, std::string_view to) {
  const Unit* source = unit_named(from);
  const Unit* target = unit_named(to);
  if (source == nullptr || target == nullptr || source->dimension != target->dimension) return std::nullopt;
  if (source == target) return value;
  // Dividing by the exact inverse keeps 0.7 PFLOPS = 700 TFLOPS without a rounding tail in most cases.
  return source->factor >= target->factor ? value * (source->factor / target->factor)
                                          : value / (target->factor / source->factor);
}

std::vector<std::string_view> units_like(std::string_view name) {
  std::vector<std::string_view> like;
  const Unit* wanted = unit_named(name);
  if (wanted == nullptr) return like;
  like.push_back(wanted->name);
  for (const Unit& unit : units) {
    if (&unit != wanted && unit.dimension == wanted->dimension) like.push_back(unit.name);
  }
  return like;
}

}  // namespace claimcheck
