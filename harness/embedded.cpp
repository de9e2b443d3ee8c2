// The bytes come in through the assembler's .incbin: no generated source to compile, whatever the size of the catalog.
#include "harness/embedded.h"

#include <algorithm>
#include <string>

#define CLAIMCHECK_CONCAT_(a, b) a##b
#define CLAIMCHECK_CONCAT(a, b) CLAIMCHECK_CONCAT_(a, b)
#define CLAIMCHECK_TEXT_(a) #a
#define CLAIMCHECK_TEXT(a) CLAIMCHECK_TEXT_(a)

// Symbols are numbered by the line of the generated list they stand on.
#define CLAIMCHECK_EMBED(path, file)                                                                                 \
  asm(".section .rodata\n.global claimcheck_begin_" CLAIMCHECK_TEXT(__LINE__) "\nclaimcheck_begin_" CLAIMCHECK_TEXT( \
      __LINE__) ":\n.incbin \"" file                                                                                 \
                "\"\n.global claimcheck_end_" CLAIMCHECK_TEXT(__LINE__) "\nclaimcheck_end_" CLAIMCHECK_TEXT(         \
                    __LINE__) ":\n.byte 0\n.previous\n");                                                            \
  extern "C" const char CLAIMCHECK_CONCAT(claimcheck_begin_, __LINE__)[];                                            \
  extern "C" const char CLAIMCHECK_CONCAT(claimcheck_end_, __LINE__)[];
#include "embedded_files.inc"
#undef CLAIMCHECK_EMBED

namespace claimcheck {
namespace {

struct File {
  std::string_view path;
  const char* begin;
  const char* end;
  std::string_view text() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

const File files[] = {
#define CLAIMCHECK_EMBED(path, file) \
  File{path, CLAIMCHECK_CONCAT(claimcheck_begin_, __LINE__), CLAIMCHECK_CONCAT(claimcheck_end_, __LINE__)},
#include "embedded_files.inc"
#undef CLAIMCHECK_EMBED
};

}  // namespace

std::optional<std::string_view> embedded_file(std::string_view path) {
  for (const File& file : files) {
    if (file.path == path) return file.text();
  }
  return std::nullopt;
}

std::vector<std::pair<std::string_view, std::string_view>> embedded_files(std::string_view prefix) {
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (const File& file : files) {
    if (file.path.starts_with(prefix)) found.emplace_back(file.path, file.text());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace claimcheck
