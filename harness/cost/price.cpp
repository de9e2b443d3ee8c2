#include "harness/cost/price.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>

#include "harness/error.h"

namespace claimcheck {
namespace {

constexpr double hours_per_year = 24 * 365;
// Beyond them stands a slip of the finger; sums over years of a hundred nodes stay readable.
constexpr double smallest_price = 1e-6;
constexpr double largest_price = 1e9;
constexpr std::string_view examples = "98.32, $98.32/node-hour or 2.49/gpu-hour";

[[noreturn]] void fail(std::string_view text, const std::string& what) {
  throw UserError(fmt::format("price '{}': {}; expected an amount such as {}", text, what, examples));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

struct Symbol {
  std::string_view text;
  std::string_view currency;  // empty: yuan or yen
};

constexpr std::array symbols = {Symbol{"US$", "USD"},    Symbol{"$", "USD"},   Symbol{"\u20AC", "EUR"},
                                Symbol{"\u00A3", "GBP"}, Symbol{"\u00A5", ""}, Symbol{"\uFFE5", ""},
                                Symbol{"\u20B9", "INR"}};

bool is_currency_code(std::string_view text) {
  return text.size() == 3 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isupper(c) != 0; });
}

// Takes a symbol or an ISO code from either end of `amount`; `currency` is what counts when there is none.
std::string take_currency(std::string_view& amount, const std::string& currency) {
  const auto named = [&](std::string_view code) {
    if (!code.empty()) return std::string(code);
    return currency == "JPY" ? std::string("JPY") : std::string("CNY");
  };
  for (const Symbol& symbol : symbols) {
    if (amount.starts_with(symbol.text)) {
      amount = trimmed(amount.substr(symbol.text.size()));
      return named(symbol.currency);
    }
    if (amount.ends_with(symbol.text)) {
      amount = trimmed(amount.substr(0, amount.size() - symbol.text.size()));
      return named(symbol.currency);
    }
  }
  if (amount.size() > 3 && is_currency_code(amount.substr(0, 3))) {
    std::string code(amount.substr(0, 3));
    amount = trimmed(amount.substr(3));
    return code;
  }
  if (amount.size() > 3 && is_currency_code(amount.substr(amount.size() - 3))) {
    std::string code(amount.substr(amount.size() - 3));
    amount = trimmed(amount.substr(0, amount.size() - 3));
    return code;
  }
  return currency;
}

// "1,234,567.50": groups of three, the first of one to three; anything else with a comma is refused, because "12,50"
// means 12.5 to some and 1250 to others.
std::optional<std::string> without_separators(std::string_view amount) {
  const std::string_view whole = amount.substr(0, amount.find('.'));
  if (whole.find(',') == std::string_view::npos) return std::string(amount);
  std::size_t begin = 0;
  bool first = true;
  while (begin <= whole.size()) {
    const std::size_t end = std::min(whole.find(',', begin), whole.size());
    const std::size_t digits = end - begin;
    if (first ? digits < 1 || digits > 3 : digits != 3) return std::nullopt;
    first = false;
    begin = end + 1;
  }
  std::string plain(amount);
  plain.erase(std::remove(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(whole.size()), ','),
              plain.begin() + static_cast<std::ptrdiff_t>(whole.size()));
  return plain;
}

double number_from(std::string_view text, std::string_view amount) {
  if (amount.empty()) fail(text, "there is no amount");
  const std::optional<std::string> plain = without_separators(amount);
  if (!plain) fail(text, fmt::format("the commas in '{}' do not separate thousands", amount));
  double value = 0;
  const auto [end, error] = std::from_chars(plain->data(), plain->data() + plain->size(), value);
  if (error != std::errc{} || end != plain->data() + plain->size() || !std::isfinite(value)) {
    fail(text, fmt::format("'{}' is not an amount", amount));
  }
  if (value < 0) fail(text, "a price is not negative");
  if (value > largest_price || (value > 0 && value < smallest_price)) {
    fail(text, "no machine has such a price: 0 (a free trial), or 0.000001 to 1,000,000,000");
  }
  return value;
}

// What stands behind the first '/': "gpu-hour", "node-h", "hour", "gpu/hour".
PricedUnit unit_from(std::string_view text, std::string_view unit) {
  std::string words = lower(unit);
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == '-' || c == '/' || c == '_'; }, ' ');
  PricedUnit priced = PricedUnit::node_hour;
  bool hour = false;
  bool thing = false;
  std::string_view rest = trimmed(words);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest = trimmed(rest.substr(word.size()));
    const auto is = [&](std::initializer_list<std::string_view> choices) {
      return std::find(choices.begin(), choices.end(), word) != choices.end();
    };
    if (!thing && !hour && is({"gpu", "card", "accelerator", "chip"})) {
      priced = PricedUnit::gpu_hour;
      thing = true;
    } else if (!thing && !hour && is({"node", "machine", "instance", "host", "vm"})) {
      thing = true;
    } else if (!hour && is({"hour", "hr", "h"})) {
      hour = true;
    } else {
      fail(text, fmt::format("'{}' is not a unit known here (gpu-hour or node-hour)", trimmed(unit)));
    }
  }
  if (!hour) fail(text, fmt::format("'{}' does not say per hour (gpu-hour or node-hour)", trimmed(unit)));
  return priced;
}

// The first day an ISO date, month or year can mean: a price is at most so old.
std::optional<std::chrono::sys_days> first_day(std::string_view text) {
  using std::chrono::sys_days;
  std::array<unsigned, 3> parts = {0, 1, 1};
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t digits = i == 0 ? 4 : 2;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + begin, end, parts[i]);
    if (error != std::errc{} || stop != text.data() + begin + digits) return std::nullopt;
    begin += digits;
    if (begin == text.size()) break;
    if (i + 1 == parts.size() || text[begin] != '-') return std::nullopt;
    ++begin;
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(parts[0])), std::chrono::month(parts[1]),
                                         std::chrono::day(parts[2])};
  return date.ok() ? std::optional(sys_days(date)) : std::nullopt;
}

}  // namespace

Quote parse_price(std::string_view text, const std::string& currency) {
  const std::string_view whole = trimmed(text);
  const std::size_t slash = whole.find('/');
  Quote quote;
  std::string_view amount = trimmed(whole.substr(0, slash));
  quote.currency = take_currency(amount, currency);
  quote.amount = number_from(text, amount);
  if (slash != std::string_view::npos) quote.unit = unit_from(text, whole.substr(slash + 1));
  return quote;
}

void add_rate(Rates& rates, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view code = trimmed(text.substr(0, equals));
  double rate = 0;
  bool good = equals != std::string_view::npos && is_currency_code(code);
  if (good) {
    const std::string_view number = trimmed(text.substr(equals + 1));
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rate);
    good = error == std::errc{} && end == number.data() + number.size() && std::isfinite(rate) && rate > 0;
  }
  if (!good) {
    throw UserError(
        fmt::format("--fx '{}': expected a currency code and its units per US dollar, such as CNY=7.1", text));
  }
  if (code == "USD" && rate != 1) {
    throw UserError(fmt::format("--fx '{}': rates are units per US dollar, so USD is always 1", text));
  }
  rates[std::string(code)] = rate;
}

std::optional<double> exchange(double amount, const std::string& from, const std::string& to, const Rates& rates) {
  if (from == to) return amount;
  const auto rate = [&](const std::string& currency) -> std::optional<double> {
    if (currency == "USD") return 1;
    const auto found = rates.find(currency);
    return found == rates.end() ? std::nullopt : std::optional(found->second);
  };
  const std::optional<double> source = rate(from);
  const std::optional<double> target = rate(to);
  if (!source || !target) return std::nullopt;
  return amount / *source * *target;
}

double effective_hourly(double upfront, double hourly, double years) {
  return hourly + upfront / (years * hours_per_year);
}

TermComparison compare_terms(double on_demand_per_hour, double reserved_per_hour, double years) {
  TermComparison comparison;
  comparison.on_demand_total = on_demand_per_hour * hours_per_year * years;
  comparison.reserved_total = reserved_per_hour * hours_per_year * years;
  comparison.break_even_utilisation = reserved_per_hour / on_demand_per_hour;
  comparison.saving = 1 - comparison.break_even_utilisation;
  return comparison;
}

std::optional<int> days_between(std::string_view from, std::string_view to) {
  const auto first = first_day(from);
  const auto second = first_day(to);
  if (!first || !second) return std::nullopt;
  return static_cast<int>((*second - *first).count());
}

}  // namespace claimcheck
