// A SAX reader builds the value, so that depth is limited while reading and every error has its position.
#include "harness/result/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/error.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

using nlohmann::json;

class Builder : public json::json_sax_t {
 public:
  json root;
  bool too_deep = false;
  bool overflow = false;     // a number too large for a double
  std::size_t position = 0;  // bytes read when it broke, one more than there are at the end of the text
  std::string token;         // what was read last
  std::string explanation;   // of the library

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t at, const std::string& last, const nlohmann::detail::exception& error) override {
    position = at;
    token = last;
    overflow = error.id == 406;
    explanation = error.what();
    return false;
  }

 private:
  json* add(json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    json& slot = (*open_.back())[key_];
    slot = std::move(value);
    return &slot;
  }
  bool put(json value) {
    add(std::move(value));
    return true;
  }
  bool open(json empty) {
    too_deep = open_.size() >= static_cast<std::size_t>(max_json_depth);
    if (too_deep) return false;
    open_.push_back(add(std::move(empty)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<json*> open_;  // only the innermost grows, so the outer pointers stay valid
  std::string key_;
};

std::string place(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = 1 + before.size() - (newline == std::string_view::npos ? 0 : newline + 1);
  return fmt::format("{}:{}", line, column);
}

// Where the bracket stands that is one too deep. Strings are skipped; the text up to there is valid JSON.
std::size_t offset_of_depth(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    if (c == '"') in_string = true;
    if ((c == '{' || c == '[') && ++depth > max_json_depth) return i;
    if (c == '}' || c == ']') --depth;
  }
  return text.size();
}

bool is_number_word(std::string_view text, std::size_t offset) {
  for (const std::string_view word : {"NaN", "nan", "Inf", "inf", "-NaN", "-nan", "-Inf", "-inf"}) {
    if (text.substr(std::min(offset, text.size())).starts_with(word)) return true;
  }
  return false;
}

// "... while parsing value - unexpected ','; expected a literal; last read: ..." without what stands before and after.
std::string cause(const std::string& explanation) {
  const std::size_t dash = explanation.find(" - ");
  const std::size_t begin = dash == std::string::npos ? 0 : dash + 3;
  const std::size_t last_read = explanation.find("; last read:", begin);
  return explanation.substr(begin, last_read == std::string::npos ? last_read : last_read - begin);
}

[[noreturn]] void fail(std::string_view text, const Builder& builder, const std::string& name) {
  const auto error = [&](std::size_t offset, const std::string& what) {
    return UserError(fmt::format("{}:{}: {}", sanitised_text(name), place(text, offset), what));
  };
  if (builder.too_deep) {
    throw error(offset_of_depth(text), fmt::format("nested deeper than {} levels; expected a claimcheck document, "
                                                   "which needs fewer than 20",
                                                   max_json_depth));
  }
  if (builder.overflow) {
    throw error(builder.position - builder.token.size(),
                fmt::format("the number {} is too large; expected a finite number or null", builder.token));
  }
  if (builder.position > text.size()) throw error(text.size(), "the JSON ends in the middle: the file was cut short");
  const std::size_t at = builder.position > 0 ? builder.position - 1 : 0;
  for (const std::size_t start : {at > 0 ? at - 1 : at, at}) {  // the sign first
    if (is_number_word(text, start)) {
      throw error(start, "NaN and infinity are not JSON numbers; expected a finite number or null");
    }
  }
  throw error(at, "not valid JSON: " + cause(builder.explanation));
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  const std::string name = sanitised_text(file.string());
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw UserError(name + ": no such file; expected a result.json");
  if (std::filesystem::is_directory(status)) {
    const bool inside = std::filesystem::exists(file / "result.json", error);
    throw UserError(
        name + ": is a directory; expected a file" +
        (inside ? ", such as " + sanitised_text((file / "result.json").string()) : ", such as result.json"));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UserError(fmt::format("{}: cannot be opened: {}", name, std::strerror(errno)));
  std::string text;
  char block[1 << 16];
  while (stream.read(block, sizeof block), stream.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > max_file_bytes) throw UserError(name + ": larger than 256 MiB; expected a claimcheck document");
  }
  if (stream.bad()) throw UserError(name + ": cannot be read to the end");
  if (text.empty()) throw UserError(name + ":1:1: the file is empty; expected a JSON document");
  return text;
}

json parse_json(std::string_view text, const std::string& name) {
  Builder builder;
  if (!json::sax_parse(text.begin(), text.end(), &builder)) fail(text, builder, name);
  return std::move(builder.root);
}

std::string dump_json(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace claimcheck
