#include "bench/fio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/device.h"

namespace claimcheck::bench {

namespace {

kernels::Error failed(std::string text, std::string remedy = {}) {
  return kernels::Error({.outcome = kernels::Outcome::failed,
                         .library = "fio",
                         .code = {},
                         .text = std::move(text),
                         .remedy = std::move(remedy)});
}

// From the first line that is an opening brace alone.
std::string_view document_in(std::string_view output) {
  std::size_t start = 0;
  while (start < output.size() && output.substr(start, 1) != "{") {
    const std::size_t line_end = output.find('\n', start);
    if (line_end == std::string_view::npos) return {};
    start = line_end + 1;
  }
  return output.substr(start);
}

double number(const nlohmann::json& object, const std::string& pointer) {
  const nlohmann::json::json_pointer where(pointer);
  if (!object.contains(where) || !object[where].is_number())
    throw failed(fmt::format("fio's output has no number at {}", pointer), "install fio 3 or newer");
  return object[where].get<double>();
}

}  // namespace

FioEngine fio_engine(std::string_view engine_list, int requests, int threads) {
  std::istringstream words{std::string(engine_list)};
  for (std::string word; words >> word;)
    if (word == "libaio") {
      int jobs = 1;  // the largest power of two that divides the requests among the threads
      while (2 * jobs <= threads && requests % (2 * jobs) == 0 && jobs < 4) jobs *= 2;
      return {"libaio", jobs, requests / jobs};
    }
  return {"psync", requests, 1};
}

FioResult parse_fio(const std::string& output, const std::string& direction) {
  const std::string_view text = document_in(output);
  const nlohmann::json document = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded() || !document.is_object())
    throw failed(
        fmt::format("fio printed no JSON document but '{}'", output.substr(0, output.find('\n')).substr(0, 200)),
        "install fio 3 or newer");
  const double error = number(document, "/jobs/0/error");
  if (error != 0) {
    const std::string message = output.substr(0, static_cast<std::size_t>(text.data() - output.data()));
    const std::string sentence =
        fmt::format("fio failed with error {:g}: {}", error, message.substr(0, message.find('\n')));
    // This is how it says that a block does not hold what was written.
    if (error == EILSEQ) throw kernels::wrong_result(sentence);
    throw failed(sentence);
  }
  const std::string at = "/jobs/0/" + direction;
  FioResult result;
  result.version = document.value("fio version", std::string("unknown"));
  result.iops = number(document, at + "/iops");
  result.latency_us = number(document, at + "/lat_ns/mean") / 1e3;
  result.seconds = number(document, at + "/runtime") / 1e3;
  result.operations = number(document, at + "/total_ios");
  result.bytes = number(document, at + "/io_bytes");
  return result;
}

}  // namespace claimcheck::bench
