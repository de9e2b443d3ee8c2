#include "harness/judge/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "harness/error.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/software.h"
#include "harness/judge/unit.h"
#include "harness/nearest.h"
#include "harness/result/metrics.h"
#include "harness/version_number.h"

namespace claimcheck {
namespace {

constexpr std::array<std::string_view, 5> operators = {">=", "<=", "==", ">", "<"};  // the longer ones first
constexpr std::string_view example = "'memory.triad.gbps>=2900 GB/s'";

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Claim parse() {
    skip_space();
    if (at_end()) fail("expected a metric, as in " + std::string(example));
    if (text_.substr(position_).starts_with("identity.") || text_.substr(position_).starts_with("transport."))
      return identity();
    Claim claim;
    const Metric& metric = take_metric();
    claim.metric = metric.key;
    skip_space();
    if (next() == '[') take_conditions(claim);
    skip_space();
    const std::string comparison = take_operator();
    claim.comparison = comparison == ">" ? ">=" : comparison == "<" ? "<=" : comparison;
    if (claim.comparison != comparison) claim.definition["strictly"] = true;
    skip_space();
    const double given = take_number();
    skip_space();
    const std::string_view unit = take_unit(metric.key, metric.unit);
    const double value = convert(given, unit, metric.unit).value();
    claim.value = value;
    claim.unit = metric.unit;
    claim.definition["comparison"] = "claim";
    claim.definition["given"] = fmt::format("{} {}", exact_text(given), unit);
    if (unit != metric.unit) {
      claim.definition["note"] = fmt::format("{} {} = {} {}", exact_text(given), unit, exact_text(value), metric.unit);
    }
    return claim;
  }

 private:
  // What the machine is: the accelerator by its name, everything else a number.
  Claim identity() {
    static const std::vector<std::string> known = {
        "identity.accelerator",  "identity.accelerator_count", "identity.accelerator_memory_gb",
        "identity.vcpus",        "identity.ram_gib",           "identity.local_nvme_gb",
        "identity.network_gbps", "identity.interconnect_gbps", "transport.network"};
    const std::size_t begin = position_;
    Claim claim;
    claim.metric = take_while([](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; });
    if (claim.metric.starts_with("identity.software.")) return software(std::move(claim), begin);
    if (std::find(known.begin(), known.end(), claim.metric) == known.end()) {
      position_ = begin;
      fail(
          fmt::format("'{}' is not known; expected {}, or identity.software.NAME", claim.metric, quoted_choice(known)));
    }
    skip_space();
    const std::string comparison = take_operator();
    const std::string unit = identity_unit(claim.metric);
    const bool size = !unit.empty();
    claim.comparison = size ? ">=" : "==";
    if (comparison != claim.comparison) fail(fmt::format("expected {} for {}", claim.comparison, claim.metric));
    skip_space();
    claim.definition["comparison"] = "claim";
    if (claim.metric == "transport.network") return network(std::move(claim));
    if (claim.metric != "identity.accelerator") {
      const double given = take_number();
      claim.value = given;
      skip_space();
      if (!size && !at_end()) fail(fmt::format("expected the end after the number, found {}", found()));
      if (size) set_size(claim, given, unit);
      if (claim.metric == "identity.interconnect_gbps") claim.definition["direction"] = "both";
      return claim;
    }
    std::string_view name = text_.substr(position_);
    while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())) != 0) name.remove_suffix(1);
    if (name.empty()) fail("expected the accelerator's name, such as H100 SXM");
    claim.value = std::string(name);
    return claim;
  }

  // What of an identity is a size or a rate, in this unit; empty for names and counts.
  static std::string identity_unit(const std::string& metric) {
    if (metric == "identity.network_gbps") return "Gb/s";
    if (metric == "identity.interconnect_gbps") return "GB/s";
    return metric.ends_with("_gib") ? "GiB" : metric.ends_with("_gb") ? "GB" : "";
  }

  void set_size(Claim& claim, double given, const std::string& wanted) {
    const std::string_view unit = take_unit(claim.metric, wanted);
    const double value = convert(given, unit, wanted).value();
    claim.value = value;
    claim.unit = wanted;
    if (unit == wanted) return;
    claim.definition["given"] = fmt::format("{} {}", exact_text(given), unit);
    claim.definition["note"] = fmt::format("{} {} = {} {}", exact_text(given), unit, exact_text(value), wanted);
  }

  // A version, or that it is there at all. Names are written with '_'; '-' is taken for it.
  Claim software(Claim claim, std::size_t begin) {
    std::replace(claim.metric.begin(), claim.metric.end(), '-', '_');
    std::vector<std::string> names;
    for (const Software& one : known_software()) names.push_back("identity.software." + std::string(one.name));
    if (std::find(names.begin(), names.end(), claim.metric) == names.end()) {
      position_ = begin;
      const std::vector<std::string> near = nearest(claim.metric, names, 3);
      fail(near.empty() ? fmt::format("'{}' is not looked for; docs/probe.md has what is", claim.metric)
                        : fmt::format("'{}' is not looked for; did you mean {}?", claim.metric, quoted_choice(near)));
    }
    skip_space();
    claim.comparison = take_operator();
    if (claim.comparison == ">" || claim.comparison == "<")
      fail(fmt::format("expected >=, <= or == for {}", claim.metric));
    skip_space();
    const std::string value(take_while([](unsigned char c) { return std::isspace(c) == 0; }));
    skip_space();
    if ((value != "present" && !is_version(value)) || !at_end())
      fail(fmt::format("expected a version such as 2.4, or present, for {}", claim.metric));
    if (value == "present" && claim.comparison != "==") fail("expected == before present");
    claim.definition["comparison"] = "claim";
    claim.value = value;
    return claim;
  }

  Claim network(Claim claim) {
    const std::string word(take_while([](unsigned char c) { return std::isalnum(c) != 0; }));
    skip_space();
    const std::vector<std::string> kinds = {"EFA", "InfiniBand", "RoCE"};
    if (std::find(kinds.begin(), kinds.end(), word) == kinds.end() || !at_end())
      fail(fmt::format("expected {} for transport.network", quoted_choice(kinds)));
    claim.value = word;
    return claim;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("--claim '{}', position {}: {}", text_, position_ + 1, what));
  }

  bool at_end() const { return position_ >= text_.size(); }
  char next() const { return at_end() ? '\0' : text_[position_]; }
  std::string found() const { return at_end() ? "the end" : fmt::format("'{}'", text_.substr(position_, 12)); }

  void skip_space() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(next())) != 0) ++position_;
  }

  template <typename Accept>
  std::string_view take_while(Accept accept) {
    const std::size_t begin = position_;
    while (!at_end() && accept(static_cast<unsigned char>(next()))) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  const Metric& take_metric() {
    const std::size_t begin = position_;
    const std::string_view key =
        take_while([](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_'; });
    if (key.empty()) fail(fmt::format("expected a metric, as in {}, found {}", example, found()));
    if (const Metric* metric = find_metric(key)) return *metric;
    position_ = begin;
    std::vector<std::string> near;
    for (std::string& name : near_metrics(key, 3)) near.push_back(std::move(name));
    fail(near.empty() ? fmt::format("no metric is called '{}'; `claimcheck list` shows them", key)
                      : fmt::format("no metric is called '{}'; did you mean {}?", key, quoted_choice(near)));
  }

  void take_conditions(Claim& claim) {
    ++position_;
    while (true) {
      skip_space();
      const std::string key(take_while([](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }));
      if (key.empty()) fail(fmt::format("expected a condition such as n=4096, found {}", found()));
      skip_space();
      if (next() != '=') fail(fmt::format("expected '=' after the condition '{}', found {}", key, found()));
      ++position_;
      skip_space();
      const std::size_t begin = position_;
      std::string_view value = take_while([](unsigned char c) { return c != ',' && c != ']' && c != '['; });
      while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back())) != 0) value.remove_suffix(1);
      if (value.empty()) fail(fmt::format("expected a value for the condition '{}', found {}", key, found()));
      if (next() != ',' && next() != ']')
        fail(fmt::format("expected ',' or ']' after the condition '{}', found {}", key, found()));
      set_condition(claim, key, value, begin);
      if (next() == ',') {
        ++position_;
        continue;
      }
      ++position_;
      return;
    }
  }

  void set_condition(Claim& claim, const std::string& key, std::string_view value, std::size_t place) {
    if (key == "sparse") {
      const bool yes = value == "yes" || value == "true" || value == "1";
      if (!yes && value != "no" && value != "false" && value != "0") {
        position_ = place;
        fail(fmt::format("expected sparse=yes or sparse=no, found '{}'", value));
      }
      claim.definition["sparse"] = yes;
      return;
    }
    if (key == "peak") {
      if (value != "yes") {
        position_ = place;
        fail(fmt::format("expected peak=yes, found '{}'", value));
      }
      claim.definition["kind"] = "peak";
      return;
    }
    if (key == "per") {
      if (value != "node" && value != "device") {
        position_ = place;
        fail(fmt::format("expected per=device or per=node, found '{}'", value));
      }
      claim.definition["per"] = std::string(value);
      return;
    }
    if (key == "direction") {
      if (value != "both" && value != "one") {
        position_ = place;
        fail(fmt::format("expected direction=both or direction=one, found '{}'", value));
      }
      claim.definition["direction"] = std::string(value);
      return;
    }
    claim.definition["conditions"][key] = condition_value(key, value, place);
  }

  // A number, a size with its unit ("4MiB") where the condition counts bytes, or a word.
  nlohmann::json condition_value(const std::string& key, std::string_view value, std::size_t place) {
    double number = 0;
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    const bool starts = error == std::errc{} && std::isfinite(number);
    if (starts && stop == end) return number;
    std::string_view rest = starts ? std::string_view(stop, static_cast<std::size_t>(end - stop)) : value;
    while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front())) != 0) rest.remove_prefix(1);
    const bool bytes = key == "bytes" || key.ends_with("_bytes");
    if (starts && bytes)
      if (const auto size = convert(number, find_unit(rest), "B")) return *size;
    constexpr std::array<std::string_view, 8> counted = {"n",     "m",     "k",       "ranks",
                                                         "nodes", "count", "threads", "processes"};
    if (!bytes && std::find(counted.begin(), counted.end(), key) == counted.end()) return std::string(value);
    position_ = place;
    fail(bytes ? fmt::format(
                     "expected a number of bytes, plain or with a unit, such as {}=4194304 or {}=4MiB, found '{}'", key,
                     key, value)
               : fmt::format("expected a plain number, such as {}=8, found '{}'", key, value));
  }

  std::string take_operator() {
    for (const std::string_view candidate : operators) {
      if (text_.substr(position_).starts_with(candidate)) {
        position_ += candidate.size();
        return std::string(candidate);
      }
    }
    std::string hint;
    if (at_end()) hint = " (quote the claim: a shell takes > and < for itself)";
    fail(fmt::format("expected an operator (>=, <=, >, < or ==), found {}{}", found(), hint));
  }

  double take_number() {
    const char* begin = text_.data() + position_;
    const char* end = text_.data() + text_.size();
    double value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || !std::isfinite(value)) {
      fail(fmt::format("expected a finite number, found {}", found()));
    }
    if (value < 0) fail(fmt::format("expected a number that is not negative, found {}", found()));
    position_ += static_cast<std::size_t>(stop - begin);
    return value;
  }

  std::string_view take_unit(const std::string& metric, const std::string& wanted) {
    std::string_view word = text_.substr(position_);
    while (!word.empty() && std::isspace(static_cast<unsigned char>(word.back())) != 0) word.remove_suffix(1);
    if (word.empty()) return wanted;
    const std::string choices = fmt::format("{}", fmt::join(units_like(wanted), ", "));
    const std::string_view unit = find_unit(word);
    if (unit.empty()) {
      fail(fmt::format("'{}' is not a unit known here, or can mean two; {} is in {} (expected one of {})", word, metric,
                       wanted, choices));
    }
    if (!convert(1, unit, wanted)) {
      fail(fmt::format("{} does not measure {}, which is in {} (expected one of {})", unit, metric, wanted, choices));
    }
    return unit;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

Claim parse_claim(std::string_view text, std::size_t number) {
  Claim claim = Parser(text).parse();
  claim.id = fmt::format("user:{}", number);
  claim.source = {{"text", std::string(text)}, {"from", "--claim"}};
  return claim;
}

std::vector<Claim> parse_claims(const std::vector<std::string>& texts) {
  std::vector<Claim> claims;
  claims.reserve(texts.size());
  for (const std::string& text : texts) claims.push_back(parse_claim(text, claims.size() + 1));
  return claims;
}

std::string to_text(const Claim& claim) {
  std::string conditions;
  if (const auto found = claim.definition.find("conditions"); found != claim.definition.end()) {
    for (const auto& [key, value] : found->items()) {
      conditions += fmt::format("{}{}={}", conditions.empty() ? "" : ",", key, value_text(value));
    }
  }
  if (!conditions.empty()) conditions = "[" + conditions + "]";
  const bool strictly = flag_at(claim.definition, "strictly");
  const std::string comparison = strictly ? claim.comparison.substr(0, 1) : claim.comparison;
  return fmt::format("{}{} {} {}", claim.metric, conditions, comparison, claimed_text(claim.value, claim.unit));
}

}  // namespace claimcheck
