// HTTP for metadata services: small answers within one deadline, from the address asked and nobody else (no proxy, no
// redirect).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace claimcheck::probe {

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
};

struct HttpAnswer {
  enum class Kind { answered, timed_out, unreachable, too_large };
  Kind kind = Kind::unreachable;
  int code = 0;
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
};

using Fetch = std::function<HttpAnswer(const HttpRequest&)>;

// All its calls together take at most `seconds`, counted from the first; an answer may have 64 KiB.
Fetch bounded_fetch(double seconds);

}  // namespace claimcheck::probe
