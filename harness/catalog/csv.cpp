#include "harness/catalog/csv.h"

#include <utility>

namespace claimcheck {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<CsvRow> read() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      CsvRow row = read_row();
      const bool blank = row.cells.size() == 1 && row.cells.front().empty();
      if (!blank) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  CsvRow read_row() {
    CsvRow row;
    row.line = line_;
    for (;;) {
      row.cells.push_back(at_ < text_.size() && text_[at_] == '"' ? quoted() : plain());
      if (at_ >= text_.size() || end_of_line()) return row;
      if (text_[at_] != ',')
        throw CsvError(line_, "text after a closing quote; expected a comma or the end of the line");
      ++at_;
    }
  }

  bool end_of_line() {
    if (text_.substr(at_).starts_with("\r\n")) ++at_;
    if (text_[at_] != '\n') return false;
    ++at_;
    ++line_;
    return true;
  }

  std::string plain() {
    const std::size_t begin = at_;
    at_ = text_.find_first_of(",\n", at_);
    if (at_ == std::string_view::npos) at_ = text_.size();
    if (at_ > begin && at_ < text_.size() && text_[at_] == '\n' && text_[at_ - 1] == '\r') --at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    const std::size_t opened = line_;
    std::string cell;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        cell += text_[at_];
      } else if (text_.substr(at_).starts_with("\"\"")) {
        cell += '"';
        ++at_;
      } else {
        ++at_;
        return cell;
      }
    }
    throw CsvError(opened, "a quote is opened and never closed");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> read_csv(std::string_view text) { return Reader(text).read(); }

}  // namespace claimcheck
