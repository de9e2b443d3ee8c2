#include "harness/catalog/import/json_input.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/terminal_text.h"

namespace claimcheck::catalog_import {
namespace {

using nlohmann::json;

constexpr std::size_t max_depth = 32;

// The line of what was read last. The library reads one byte beyond a number: a line break counts with the byte behind.
struct Place {
  std::size_t line = 1;
  bool line_over = false;

  void pass(char byte) {
    if (line_over) ++line;
    line_over = byte == '\n';
  }
};

// One byte of look-ahead over Input::byte(). Copies share the input: the library takes iterators by value.
class Bytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Bytes() = default;
  Bytes(Input& input, Place& place) : input_(&input), place_(&place) { fetch(); }

  reference operator*() const { return byte_; }
  Bytes& operator++() {
    place_->pass(byte_);
    fetch();
    return *this;
  }
  Bytes operator++(int) {
    Bytes before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Bytes& other) const { return input_ == other.input_; }
  bool operator!=(const Bytes& other) const { return !(*this == other); }

 private:
  void fetch() {
    const int next = input_->byte();
    if (next < 0) {
      input_ = nullptr;
    } else {
      byte_ = static_cast<char>(next);
    }
  }

  Input* input_ = nullptr;  // null at the end
  Place* place_ = nullptr;
  char byte_ = 0;
};

class Handler : public json::json_sax_t {
 public:
  Handler(Input& input, JsonEvents& events, const Place& place) : input_(input), events_(events), place_(place) {}

  bool null() override { return value_without_text(); }
  bool boolean(bool) override { return value_without_text(); }
  bool number_integer(number_integer_t value) override { return numeric(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return numeric(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return numeric(value); }
  bool string(string_t& value) override {
    events_.text(path_, value, place_.line);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& value) override {
    path_.back() = value;
    return true;
  }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string& last, const nlohmann::detail::exception& error) override {
    // The library's text begins with its own position; what it expected stands behind the last "; ".
    const std::string text = error.what();
    const std::size_t reason = text.rfind("; ");
    const std::string what = reason == std::string::npos ? "not JSON" : text.substr(reason + 2);
    if (text.find("unexpected end of input") != std::string::npos || last.find("<EOF>") != std::string::npos) {
      input_.fail(place_.line, "the JSON ends inside a value: the file is cut short");
    }
    input_.fail(place_.line, sanitised_text(fmt::format("not JSON: {} near \"{}\"", what, last.substr(0, 40))));
  }

 private:
  bool value_without_text() {
    events_.other(path_, place_.line);
    return true;
  }
  bool numeric(double value) {
    events_.number(path_, value, place_.line);
    return true;
  }
  bool open() {
    if (path_.size() >= max_depth) {
      input_.fail(place_.line, fmt::format("values nested deeper than {}", max_depth));
    }
    events_.opened(path_, place_.line);
    path_.emplace_back();
    return true;
  }
  bool close() {
    path_.pop_back();
    events_.closed(path_, place_.line);
    return true;
  }

  Input& input_;
  JsonEvents& events_;
  const Place& place_;
  std::vector<std::string> path_;
};

}  // namespace

void read_json(Input& input, JsonEvents& events) {
  Place place;
  Handler handler(input, events, place);
  if (!json::sax_parse(Bytes(input, place), Bytes(), &handler)) input.fail(place.line, "not JSON");
}

std::string pointer_text(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& key : path) text += "/" + sanitised_text(key);
  return text;
}

}  // namespace claimcheck::catalog_import
