#include "harness/catalog/import/offer.h"

#include <charconv>
#include <cmath>

namespace claimcheck::catalog_import {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

std::optional<double> amount_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string_view region_of_zone(std::string_view zone) {
  if (zone.size() < 6 || !is_letter(zone.back())) return zone;
  const std::size_t dash = zone.rfind('-');
  if (dash != std::string_view::npos && zone.substr(dash).starts_with("-ai")) return zone.substr(0, dash);
  const char before = zone[zone.size() - 2];
  if (is_digit(before)) return zone.substr(0, zone.size() - 1);  // "us-east-1a"
  if (before == '-' && is_digit(zone[zone.size() - 3])) return zone.substr(0, zone.size() - 2);
  return zone;
}

}  // namespace claimcheck::catalog_import
