#include "harness/catalog/import/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "harness/error.h"
#include "harness/terminal_text.h"

namespace claimcheck::catalog_import {
namespace {

constexpr std::size_t piece_bytes = std::size_t{256} << 10;
constexpr std::size_t head_bytes = std::size_t{64} << 10;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_ascii(std::string_view text) {
  unsigned char any = 0;
  for (const char c : text) any |= static_cast<unsigned char>(c);
  return any < 0x80;
}

}  // namespace

Input::Input(const std::filesystem::path& file) : path_(file), name_(sanitised_text(file.string())) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw UserError(name_ + ": no such file; expected a price list to import");
  if (!std::filesystem::is_regular_file(status)) throw UserError(name_ + ": not a file; expected a price list");
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (!error && size > max_import_bytes) {
    throw UserError(fmt::format("{}: {} bytes; at most {} are read", name_, size, max_import_bytes));
  }
  file_.reset(std::fopen(file.c_str(), "rb"));
  if (!file_) throw UserError(fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
  buffer_.resize(piece_bytes);
  if (!fill()) throw UserError(name_ + ": empty; expected a price list");
  skip_mark();
}

void Input::skip_mark() {
  if (head().starts_with(byte_order_mark)) at_ = byte_order_mark.size();
  if (at_ == filled_ && !fill()) throw UserError(name_ + ": empty; expected a price list");
}

std::string_view Input::head() const {
  return std::string_view(buffer_).substr(at_, std::min(filled_ - at_, head_bytes));
}

bool Input::fill() {
  if (at_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + at_, filled_ - at_);
    filled_ -= at_;
    at_ = 0;
  }
  if (filled_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const std::size_t got = std::fread(buffer_.data() + filled_, 1, buffer_.size() - filled_, file_.get());
  if (got == 0 && std::ferror(file_.get()) != 0) {
    throw UserError(fmt::format("{}: reading broke off: {}", name_, std::strerror(errno)));
  }
  filled_ += got;
  return got > 0;
}

bool Input::line(std::string_view& text) {
  if (!by_lines_) {
    by_lines_ = true;
    line_number_ = 0;
  }
  std::size_t searched = at_;
  const char* end = nullptr;
  for (;;) {
    end = static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', filled_ - searched));
    if (end != nullptr) break;
    const std::size_t have = filled_ - at_;
    if (have > max_line_bytes)
      fail(line_number_ + 1, fmt::format("over {} bytes without a line break", max_line_bytes));
    if (!fill()) break;
    searched = at_ + have;
  }
  const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - (buffer_.data() + at_)) : filled_ - at_;
  if (end == nullptr && length == 0) return false;
  ++line_number_;
  line_ended_ = end != nullptr;
  text = std::string_view(buffer_).substr(at_, length);
  at_ += length + (end != nullptr ? 1 : 0);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (!is_ascii(text) && !is_utf8(text)) fail(line_number_, "bytes that are not UTF-8");
  return true;
}

std::size_t Input::bytes(char* to, std::size_t most) {
  if (at_ == filled_ && !fill()) return 0;
  const std::size_t count = std::min(most, filled_ - at_);
  std::memcpy(to, buffer_.data() + at_, count);
  at_ += count;
  line_ended_ = to[count - 1] == '\n';
  return count;
}

void Input::fail(std::size_t line, const std::string& text) const {
  throw UserError(fmt::format("{}:{}: {}", name_, line, text));
}

}  // namespace claimcheck::catalog_import
