// JSON that stands in a log: found by its first brace, followed to its last one, whatever stands before and behind it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace claimcheck::importing {

inline constexpr std::size_t max_json_bytes = std::size_t{16} << 20;  // takes up to ten times that while it is read

class JsonCollector {
 public:
  enum class State { none, inside, complete, too_large };

  // Whether a document may begin with this line: an object, or a list of objects.
  static bool begins(std::string_view line);
  // One more line; `none` as long as no document has begun.
  State line(std::string_view text);
  // The document after `complete`; what there is of it while `inside`. Leaves the collector empty.
  std::string take();
  bool inside() const { return depth_ > 0; }

 private:
  std::string text_;
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace claimcheck::importing
