// Report formats. A new one is a file here with its render function, declared below and listed in format.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

struct Catalog;

struct ReportOptions {
  bool colour = false;               // the caller knows whether a terminal reads it
  std::size_t width = 100;           // columns of text, 60 at least
  const Catalog* catalog = nullptr;  // for what a document does not carry: ceilings from data sheets
};

struct ReportFormat {
  std::string_view name;  // as --format takes it
  std::string (*render)(const Document& document, const ReportOptions& options);
};

std::string render_text(const Document& document, const ReportOptions& options);
std::string render_html(const Document& document, const ReportOptions& options);
std::string render_markdown(const Document& document, const ReportOptions& options);
std::string render_junit(const Document& document, const ReportOptions& options);
std::string render_csv(const Document& document, const ReportOptions& options);
std::string render_prometheus(const Document& document, const ReportOptions& options);
std::string render_json(const Document& document, const ReportOptions& options);
std::string render_annotations(const Document& document, const ReportOptions& options);

const std::vector<ReportFormat>& report_formats();
std::vector<std::string> report_format_names();

// Throws UserError naming the valid ones.
const ReportFormat& report_format(std::string_view name);

}  // namespace claimcheck
