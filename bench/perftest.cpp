#include "bench/perftest.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "kernels/device.h"

namespace claimcheck::bench {

namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::optional<double> number(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]": a heading of a bandwidth has two words.
// "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] ...": of a time up to here it has one.
struct Column {
  std::size_t position = 0;
  double factor = 1;  // to GB/s or us
};

std::optional<Column> column_in(const std::string& heading, RdmaTest test) {
  const std::vector<std::string> words = words_of(heading);
  if (words.empty() || words[0] != "#bytes") return std::nullopt;
  if (test == RdmaTest::send_latency) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == "t_typical[usec]") return Column{i, 1};
    return std::nullopt;
  }
  constexpr std::size_t average = 3;
  if (heading.find("BW average[Gb/sec]") != std::string::npos) return Column{average, 1.0 / 8};
  // Its MB are 2^20 bytes.
  if (heading.find("BW average[MB/sec]") != std::string::npos) return Column{average, 1048576 / 1e9};
  return std::nullopt;
}

}  // namespace

std::string perftest_program(RdmaTest test) {
  switch (test) {
    case RdmaTest::write:
      return "ib_write_bw";
    case RdmaTest::read:
      return "ib_read_bw";
    case RdmaTest::send_latency:
      break;
  }
  return "ib_send_lat";
}

std::vector<std::string> perftest_arguments(RdmaTest test, const RdmaPort& port, int tcp_port,
                                            const std::string& server) {
  std::vector<std::string> arguments = {
      perftest_program(test),   "-d", port.device, "-i", std::to_string(port.port), "-p",
      std::to_string(tcp_port), "-F"};  // whatever the CPU's clock does
  // Adapters of AWS have no reliable connections but datagrams of their own.
  if (port.fabric == "efa") arguments.insert(arguments.end(), {"-c", "SRD"});
  if (test != RdmaTest::send_latency)
    arguments.insert(arguments.end(), {"-s", std::to_string(perftest_message_bytes), "-n",
                                       std::to_string(perftest_iterations), "--report_gbits"});
  if (!server.empty()) arguments.push_back(server);
  return arguments;
}

std::string perftest_complaint(const std::string& output, const std::string& errors) {
  for (const std::string* text : {&errors, &output})
    for (const std::string& line : lines_of(*text)) {
      const std::vector<std::string> words = words_of(line);
      const bool rule = line.find_first_not_of("-* ") == std::string::npos;
      const bool fact = line.find(" : ") != std::string::npos || line.starts_with("WARNING");
      if (words.size() >= 3 && !rule && !fact) return line.substr(line.find_first_not_of(' '), 200);
    }
  return "it said nothing";
}

double parse_perftest(RdmaTest test, int exit_code, const std::string& output, const std::string& errors) {
  std::optional<Column> column;
  for (const std::string& line : lines_of(output)) {
    if (const auto found = column_in(line, test)) {
      column = found;
      continue;
    }
    const std::vector<std::string> words = words_of(line);
    // With a word behind it, so that it is not cut off.
    if (exit_code != 0 || !column || words.size() < column->position + 2) continue;
    const std::optional<double> bytes = number(words[0]);
    const std::optional<double> value = number(words[column->position]);
    if (bytes && value && *value > 0) return *value * column->factor;
  }
  const std::string said = perftest_complaint(output, errors);
  const std::string text = exit_code == 0
                               ? fmt::format("{} gave no figure: {}", perftest_program(test), said)
                               : fmt::format("{} ended with {}: {}", perftest_program(test), exit_code, said);
  if (said.find("only possible in") != std::string::npos) throw kernels::unsupported(text, "install a newer perftest");
  throw kernels::Error(
      {.outcome = kernels::Outcome::failed,
       .library = "perftest",
       .code = {},
       .text = text,
       .remedy = "see whether the port is up on both nodes, and whether they reach each other by TCP"});
}

}  // namespace claimcheck::bench
