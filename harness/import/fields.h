// Words and numbers of a line. Pure, without allocation: a log has millions of lines.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace claimcheck::importing {

// The words of a line, at most `most`; more are not looked at.
class Fields {
 public:
  static constexpr std::size_t most = 64;
  explicit Fields(std::string_view line);
  std::size_t size() const { return size_; }
  std::string_view operator[](std::size_t index) const { return {words_[index].begin, words_[index].length}; }

 private:
  struct Word {
    const char* begin;
    std::size_t length;
  };
  std::array<Word, most> words_;  // NOLINT(cppcoreguidelines-pro-type-member-init): 1 KiB to clear for each line
  std::size_t size_ = 0;
};

// A whole word as a number: "12", "1.5e-06", "1_048_576". Unset for "N/A", "12GB", "1,5", nan and infinity.
std::optional<double> number(std::string_view word);

// A number with the unit after it, "482.26GBps": the number, and the rest.
struct Quantity {
  double value = 0;
  std::string_view unit;
};
std::optional<Quantity> quantity(std::string_view word);

// Bytes of "32KiB", "8M", "1 GiB"; letters mean powers of 1024, as tools of this field use them. Unset when it is none.
std::optional<double> binary_bytes(std::string_view word);

// What follows `mark` in `text`, without blanks at its ends; unset when it is not there.
std::optional<std::string_view> after(std::string_view text, std::string_view mark);

std::string_view trimmed(std::string_view text);

bool contains(std::string_view text, std::string_view part);

}  // namespace claimcheck::importing
