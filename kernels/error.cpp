#include "kernels/error.h"

#include <string>
#include <utility>

namespace claimcheck::kernels {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::wrong_result:
      return "wrong_result";
    case Outcome::unstable:
      return "unstable";
    case Outcome::unsupported:
      return "unsupported";
    case Outcome::timed_out:
      return "timed_out";
    case Outcome::crashed:
      return "crashed";
    case Outcome::failed:
      return "failed";
  }
  return "failed";
}

namespace {

std::string sentence(const Error::Detail& detail) {
  std::string text = detail.text;
  if (!detail.code.empty()) text += " (" + detail.library + ": " + detail.code + ")";
  if (!detail.remedy.empty()) text += "; " + detail.remedy;
  return text;
}

}  // namespace

Error::Error(Detail detail, std::source_location place)
    : std::runtime_error(sentence(detail)), detail_(std::move(detail)), place_(place) {}

Error unsupported(std::string reason, std::string remedy, std::source_location place) {
  return Error({.outcome = Outcome::unsupported,
                .library = "claimcheck",
                .code = {},
                .text = std::move(reason),
                .remedy = std::move(remedy)},
               place);
}

Error wrong_result(std::string text, std::source_location place) {
  return Error(
      {.outcome = Outcome::wrong_result, .library = "claimcheck", .code = {}, .text = std::move(text), .remedy = {}},
      place);
}

}  // namespace claimcheck::kernels
