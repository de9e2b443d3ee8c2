// A JSON file of any size as events, with the line that each is on. Nothing of it is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/catalog/import/input.h"

namespace claimcheck::catalog_import {

// Where an event stands: the keys from the root, an empty one for each array.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void number(const std::vector<std::string>& path, double value, std::size_t line) = 0;
  virtual void text(const std::vector<std::string>& path, const std::string& value, std::size_t line) = 0;
  virtual void other(const std::vector<std::string>& /*path*/, std::size_t /*line*/) {}  // true, false or null
  virtual void opened(const std::vector<std::string>& /*path*/, std::size_t /*line*/) {}
  virtual void closed(const std::vector<std::string>& /*path*/, std::size_t /*line*/) {}
};

// Throws UserError "NAME:LINE: ...": not JSON, cut short, not UTF-8, deeper than 32.
void read_json(Input& input, JsonEvents& events);

// "/us-east-1/p5.48xlarge", safe to show.
std::string pointer_text(const std::vector<std::string>& path);

}  // namespace claimcheck::catalog_import
