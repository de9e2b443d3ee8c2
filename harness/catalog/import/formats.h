// The formats that `claimcheck catalog import` reads. Adding one is adding a file with its reader, and a line of the
// table in formats.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/catalog/import/input.h"
#include "harness/catalog/import/offer.h"

namespace claimcheck::catalog_import {

// What the command line says of a file beside its content.
struct FileHints {
  std::string provider;  // --provider; empty: the file or its name says
};

// Every price of the file to the sink. Throws UserError at the first place that is not of the format.
using Reader = void (*)(Input& input, const FileHints& hints, OfferSink& sink);

void read_gpuhunt(Input& input, const FileHints& hints, OfferSink& sink);
void read_skypilot(Input& input, const FileHints& hints, OfferSink& sink);
void read_karpenter(Input& input, const FileHints& hints, OfferSink& sink);
void read_cyclenerd(Input& input, const FileHints& hints, OfferSink& sink);
void read_vantage(Input& input, const FileHints& hints, OfferSink& sink);

struct Format {
  std::string_view name;
  Reader read;
  std::string_view title;       // of the source record of what is imported
  std::string_view licence;     // empty: unknown
  std::string_view confidence;  // of its on-demand prices; spot prices move and are at most medium
  bool (*fits)(std::string_view head, const Input& input);
};

// By name, or the one that the file's beginning fits for "auto". Throws UserError naming the choices.
const Format& format_of(const Input& input, std::string_view name);

std::vector<std::string> format_names();  // "auto" first

// "lambda" for "lambdalabs", "aws" for "AWS"; other words in lower case. Throws UserError when it is no name of a file
// of prices.
std::string provider_name(const Input& input, std::string_view word);

}  // namespace claimcheck::catalog_import
