// XML as nvidia-smi -q -x writes it, in pieces: elements, their text, nothing else. A document may end anywhere, and a
// text may stand where elements are expected.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck::importing {

class SmiXml {
 public:
  // A GPU element begins, with the text of its "id".
  std::function<void(std::string_view)> gpu;
  // An element without elements in it: "ecc_mode/current_ecc", its place in its GPU or document, and its text.
  std::function<void(std::string_view, std::string_view)> value;

  // False when the line is outside of a document.
  bool line(std::string_view text, std::size_t number);
  bool inside() const { return !open_.empty(); }
  bool in_gpu() const { return gpu_depth_ > 0; }
  // The element that was left open, and the line it began at.
  std::string_view innermost() const { return open_.back().name; }
  std::size_t innermost_line() const { return open_.back().line; }

 private:
  struct Element {
    std::string name;
    std::size_t line = 0;
    bool has_elements = false;
  };

  void tag(std::string_view inside_of_tag, std::size_t number);
  void close(std::string_view name);
  std::string place() const;

  std::vector<Element> open_;
  std::size_t gpu_depth_ = 0;  // of the gpu element, counted from 1
  std::string text_;
  std::string tag_;  // one that began in an earlier line
  bool in_tag_ = false;
};

}  // namespace claimcheck::importing
