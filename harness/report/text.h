// The parts of the text report; each ends with a newline or is empty. All take a sanitised document.
#pragma once

#include <string>

#include "harness/report/format.h"

namespace claimcheck::report {

// Machine, software, plan, when; and what a reader must know first: partial, failed, virtual.
std::string header_text(const Document& document, const ReportOptions& options);

// Every measurement with its spread, by metric; of many sizes those that speak, with the number of the others.
std::string measurements_text(const Document& document, const ReportOptions& options);

// What is left of the speed of one when several work at once: one row for each number of ranks, with the slowest named.
std::string scaling_text(const Document& document, const ReportOptions& options);

// A soak: what each device kept from the first minute to the last.
std::string soak_text(const Document& document, const ReportOptions& options);

// What lies between the devices: the matrix of each pair's rate, and the all-reduce by size.
std::string links_text(const Document& document, const ReportOptions& options);

// What lies between the nodes: the matrix of each pair's rate, and the node or link that is to blame.
std::string nodes_text(const Document& document, const ReportOptions& options);

// What was found about the machine, and what to do next.
std::string findings_text(const Document& document, const ReportOptions& options);

}  // namespace claimcheck::report
