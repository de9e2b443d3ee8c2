// A figure of the page: a chart for the eye, and the same numbers as a table for screen readers, paper and search.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/report/format.h"

namespace claimcheck::report {

struct Series {
  std::string name;
  std::string look;                           // "bar", "line" or "mark"
  std::vector<std::optional<double>> values;  // one a label; unset: nothing is known
};

struct Figure {
  std::string id;        // of the element: "flops"
  std::string title;     // heading
  std::string caption;   // one sentence: what to see in it
  std::string category;  // heading of the labels: "data type"
  std::string unit;      // of all values
  std::vector<std::string> labels;
  std::vector<Series> series;
  bool horizontal = false;
  bool from_zero = true;  // of the axis of values
  int height = 300;       // pixels
};

std::string figure_html(const Figure& figure);
nlohmann::json figure_json(const Figure& figure);

// TFLOPS by data type, spread over the GPUs, collectives by size, scaling, clocks and power over time, cost: those that
// the document has numbers for.
std::vector<Figure> figures_of(const Document& document, const ReportOptions& options);

std::vector<Figure> soak_figures(const Document& document);

// The matrices of pairs as coloured tables; empty when there are none.
std::string heat_maps_html(const Document& document);

}  // namespace claimcheck::report
