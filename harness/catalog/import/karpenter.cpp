// karpenter's price tables. AWS and Azure: Go source, a map of maps, region -> type -> price, on demand, Linux. Google
// and Alibaba: the same as JSON, Google with spot beside. Instances only: which are machines with accelerators, the
// catalog knows.
#include <fmt/format.h>

#include <cctype>
#include <string>
#include <vector>

#include "harness/catalog/import/formats.h"
#include "harness/catalog/import/json_input.h"
#include "harness/terminal_text.h"

namespace claimcheck::catalog_import {
namespace {

// Whose table it is says the first type in it.
std::string provider_of(const Input& input, const FileHints& hints, std::string_view type) {
  if (!hints.provider.empty()) return provider_name(input, hints.provider);
  if (type.starts_with("Standard_") || type.starts_with("Basic_") || type.find("_Type") != std::string_view::npos) {
    return "azure";
  }
  if (type.starts_with("ecs.")) return "alibaba";
  return type.find('.') != std::string_view::npos ? "aws" : "gcp";
}

// Of Go source, what a table of prices needs: strings, numbers, braces and the marks between them.
class GoTable {
 public:
  GoTable(Input& input, const FileHints& hints, OfferSink& sink) : input_(input), hints_(hints), sink_(sink) {}

  void read() {
    std::string_view text;
    while (input_.line(text)) line(text);
    if (depth_ != 0 || in_comment_) {
      input_.fail(input_.line_number(), "the Go source ends inside a table: the file is cut short");
    }
    if (prices_ == 0) {
      input_.fail(input_.line_number(), "no price in it; expected \"REGION\": {\"TYPE\": PRICE, ...} in a Go map");
    }
  }

 private:
  void line(std::string_view text) {
    while (!text.empty()) {
      if (in_comment_) {
        const std::size_t end = text.find("*/");
        if (end == std::string_view::npos) return;
        in_comment_ = false;
        text.remove_prefix(end + 2);
      } else if (text.starts_with("//")) {
        comment(text.substr(2));
        return;
      } else if (text.starts_with("/*")) {
        in_comment_ = true;
        text.remove_prefix(2);
      } else if (text.front() == '"') {
        text.remove_prefix(string(text));
      } else if (std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
        text.remove_prefix(number(text));
      } else {
        mark(text.front());
        text.remove_prefix(word(text));
      }
    }
  }

  // "generated at 2026-07-20T13:06:44Z for us-east-1"
  void comment(std::string_view text) {
    constexpr std::string_view lead = "generated at ";
    constexpr std::size_t date = 10;
    const std::size_t at = text.find(lead);
    if (at != std::string_view::npos) sink_.dated(text.substr(at + lead.size(), date), input_.line_number());
  }

  std::size_t string(std::string_view text) {
    const std::size_t end = text.find('"', 1);
    if (end == std::string_view::npos) input_.fail(input_.line_number(), "a text is opened and never closed");
    pending_ = text.substr(1, end - 1);
    after_ = '"';
    return end + 1;
  }

  std::size_t number(std::string_view text) {
    const std::size_t length = std::min(text.find_first_not_of("0123456789.eE+-_"), text.size());
    if (after_ == ':') price(text.substr(0, length));
    after_ = '0';
    return length;
  }

  void price(std::string_view text) {
    if (region_.empty()) {
      input_.fail(input_.line_number(), fmt::format("a price of \"{}\" outside a region", sanitised_text(pending_)));
    }
    if (provider_.empty()) provider_ = provider_of(input_, hints_, pending_);
    ++prices_;
    Offer offer;
    offer.provider = provider_;
    offer.instance = pending_;
    offer.region = region_;
    offer.line = input_.line_number();
    const auto amount = amount_of(text);
    if (!amount) return sink_.refused("the price is no number", offer);
    offer.amount = *amount;
    sink_.offer(offer);
  }

  // Identifiers and types are passed over in one go, so that "map[string]float64" counts for nothing.
  static std::size_t word(std::string_view text) {
    if (std::isalpha(static_cast<unsigned char>(text.front())) == 0 && text.front() != '_') return 1;
    std::size_t end = 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    return end;
  }

  void mark(char c) {
    switch (c) {
      case '{':
        ++depth_;
        if (!pending_.empty() && (after_ == ':' || after_ == '=')) {  // "region": {   and   x["region"] = map...{
          region_ = pending_;
          region_depth_ = depth_;
        }
        pending_.clear();
        break;
      case '}':
        if (depth_ == 0) input_.fail(input_.line_number(), "a closing brace too many");
        if (depth_ == region_depth_) region_.clear();
        --depth_;
        break;
      case ':':
      case '=':
        if (after_ == '"' || after_ == ']') after_ = c;
        return;
      case ']':
        if (after_ == '"') after_ = ']';
        return;
      case ',':
      case ')':
        pending_.clear();
        after_ = c;
        return;
      default:
        return;  // blanks, identifiers, the brackets of types
    }
    after_ = c;
  }

  Input& input_;
  const FileHints& hints_;
  OfferSink& sink_;
  std::string provider_;
  std::string region_;
  std::string pending_;  // the last text
  char after_ = 0;       // what stood last, of " 0 : = ] , { }
  std::size_t depth_ = 0;
  std::size_t region_depth_ = 0;
  std::size_t prices_ = 0;
  bool in_comment_ = false;
};

// {region: {type: price}} or {"prices": {region: {"on_demand": {type: price}, "spot": {...}}}}.
class JsonTable : public JsonEvents {
 public:
  JsonTable(Input& input, const FileHints& hints, OfferSink& sink) : input_(input), hints_(hints), sink_(sink) {}

  void number(const std::vector<std::string>& path, double value, std::size_t line) override {
    const bool plain = path.size() == 2;
    const bool by_term = path.size() == 4 && path[0] == "prices" && (path[2] == "on_demand" || path[2] == "spot");
    if (!plain && !by_term) unexpected(path, line);
    const std::string& type = path.back();
    if (provider_.empty()) provider_ = provider_of(input_, hints_, type);
    ++prices_;
    Offer offer;
    offer.provider = provider_;
    offer.instance = type;
    offer.region = plain ? path[0] : path[1];
    offer.term = by_term && path[2] == "spot" ? Term::spot : Term::on_demand;
    offer.amount = value;
    offer.line = line;
    sink_.offer(offer);
  }

  void text(const std::vector<std::string>& path, const std::string& /*value*/, std::size_t line) override {
    if (path.size() != 1) unexpected(path, line);  // a remark beside the table
  }

  std::size_t prices() const { return prices_; }

 private:
  [[noreturn]] void unexpected(const std::vector<std::string>& path, std::size_t line) {
    input_.fail(line, fmt::format("{} is no price of a karpenter table; expected /REGION/TYPE, or "
                                  "/prices/REGION/on_demand/TYPE and /prices/REGION/spot/TYPE",
                                  pointer_text(path)));
  }

  Input& input_;
  const FileHints& hints_;
  OfferSink& sink_;
  std::string provider_;
  std::size_t prices_ = 0;
};

}  // namespace

void read_karpenter(Input& input, const FileHints& hints, OfferSink& sink) {
  const std::string_view head = input.head();
  const std::size_t mark = head.find_first_not_of(" \t\r\n");
  if (mark == std::string_view::npos || head[mark] != '{') return GoTable(input, hints, sink).read();
  JsonTable table(input, hints, sink);
  read_json(input, table);
  if (table.prices() == 0) input.fail(input.line_number(), "no price in it; expected /REGION/TYPE with a number");
}

}  // namespace claimcheck::catalog_import
