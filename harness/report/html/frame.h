// What every page has around its content: head with a policy that lets nothing out, styles, and the scripts that draw
// the figures and offer the data.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/report/html/figure.h"

namespace claimcheck::report {

struct Page {
  std::string title;
  std::string verdict;      // HTML with an element of id "verdict"; it comes first
  std::string header_rows;  // HTML of <dt> and <dd>: the machine, the software
  std::string main;         // HTML of the rest
  std::vector<Figure> figures;
  nlohmann::json data;         // offered for download
  std::string data_file;       // under this name
  std::string data_explained;  // what it is, as the rest of a sentence
};

std::string page_html(const Page& page);

// A part with its heading; empty for empty content.
std::string section_html(const std::string& id, const std::string& heading, const std::string& html);

}  // namespace claimcheck::report
