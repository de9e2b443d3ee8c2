#include "harness/probe/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <optional>

namespace claimcheck::probe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_bytes = 64 << 10;

struct Receiver {
  HttpAnswer answer;
  bool too_large = false;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* to) {
  auto& receiver = *static_cast<Receiver*>(to);
  receiver.too_large = receiver.answer.body.size() + size * count > most_bytes;
  if (receiver.too_large) return 0;
  receiver.answer.body.append(data, size * count);
  return size * count;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* to) {
  const std::string line(data, size * count);
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return size * count;
  std::string name = line.substr(0, colon);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string value = line.substr(colon + 1);
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(value.find_last_not_of(" \t\r\n") + 1);
  static_cast<Receiver*>(to)->answer.headers[name] = value;
  return size * count;
}

HttpAnswer fetch_within(const HttpRequest& request, long milliseconds) {
  using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
  using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const Handle handle(ready == CURLE_OK ? curl_easy_init() : nullptr, curl_easy_cleanup);
  Receiver receiver;
  if (!handle) return receiver.answer;
  List headers(nullptr, curl_slist_free_all);
  for (const std::string& header : request.headers) {
    curl_slist* longer = curl_slist_append(headers.get(), header.c_str());
    if (longer == nullptr) return receiver.answer;
    (void)headers.release();
    headers.reset(longer);
  }
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // stands before http_proxy of the environment
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &receiver);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &receiver);
  const CURLcode code = curl_easy_perform(curl);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  receiver.answer.code = static_cast<int>(status);
  using Kind = HttpAnswer::Kind;
  receiver.answer.kind = receiver.too_large                 ? Kind::too_large
                         : code == CURLE_OK                 ? Kind::answered
                         : code == CURLE_OPERATION_TIMEDOUT ? Kind::timed_out
                                                            : Kind::unreachable;
  return receiver.answer;
}

}  // namespace

Fetch bounded_fetch(double seconds) {
  auto deadline = std::make_shared<std::optional<Clock::time_point>>();
  return [deadline, seconds](const HttpRequest& request) {
    const auto now = Clock::now();
    if (!*deadline)
      *deadline = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(**deadline - now).count();
    HttpAnswer late;
    late.kind = HttpAnswer::Kind::timed_out;
    return left < 1 ? late : fetch_within(request, static_cast<long>(left));
  };
}

}  // namespace claimcheck::probe
