// Gives a fuzz target its seeds and a fixed number of mutations of each, the same every time: what every build and
// every CI run can afford. The search that follows coverage is libFuzzer's (scripts/test.sh --fuzz).
//   fuzz_TARGET SEEDS... [--mutations N]      a seed is a file, or a folder of files
// An input that crashes, or takes over ten seconds of CPU, is written to fuzz-failure in the working directory.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int most_seconds = 10;                          // of CPU: a busy machine does not count
constexpr rlim_t most_memory = rlim_t{2} << 30;           // what is mapped
constexpr std::size_t most_bytes = std::size_t{1} << 16;  // of a mutated input

std::string input;  // the one at work, for the handler

void say(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(1);
}

extern "C" void on_failure(int signal) {
  say(signal == SIGPROF ? "fuzz: an input takes over 10 s" : "fuzz: an input ends the program");
  say("; it is in ./fuzz-failure\n");
  const int file = open("fuzz-failure", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && write(file, input.data(), input.size()) >= 0) close(file);
  _exit(1);
}

void set_limits() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) std::signal(signal, on_failure);
#ifndef __SANITIZE_ADDRESS__  // whose shadow maps terabytes
  const rlimit limit{most_memory, most_memory};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

void run(std::string text) {
  input = std::move(text);
  const itimerval limit{{0, 0}, {most_seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  // One to four changes.
  std::string mutated(std::string text) {
    for (std::size_t times = 1 + below(4); times > 0; --times) change(text);
    if (text.size() > most_bytes) text.resize(most_bytes);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  void change(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(below(2) == 0 ? 8 : 200) + 1, text.size() - at);
    switch (below(9)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 4:
        text.insert(at, 1, static_cast<char>(random_()));
        break;
      case 5:
        replace_number(text, at);
        break;
      case 6:
        text.insert(at, words[below(words.size())]);
        break;
      case 7: {
        const std::string& other = seeds_[below(seeds_.size())];
        text.insert(at, other, below(other.size() + 1), below(400));
        break;
      }
      default:
        swap_lines(text, at);
    }
  }

  // The next number behind `at` becomes one that nobody expects.
  void replace_number(std::string& text, std::size_t at) {
    const std::size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
    text.replace(begin, end - begin, numbers[below(numbers.size())]);
  }

  void swap_lines(std::string& text, std::size_t at) {
    const std::size_t first = text.find('\n', at);
    const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
    if (second == std::string::npos) return;
    const std::string line = text.substr(first, second - first);
    text.erase(first, line.size());
    text.insert(std::min(text.rfind('\n', at), text.size()), line);
  }

  static constexpr std::array<std::string_view, 12> numbers = {
      "0",   "-1",  "1e308", "1e-320",    "99999999999999999999", "4294967296", "9223372036854775808", "0.0",
      "nan", "inf", "",      "2147483648"};
  static constexpr std::array<std::string_view, 14> words = {
      "\n", "\r", "\r\n", "\x1b[31m", "\xff\xfe", "{", "}", "[", "\"", "N/A", "null", ",", "#", "[1,0]<stdout>:"};
  std::vector<std::string> seeds_;
  std::mt19937 random_{20'261'201};  // its sequence is fixed by the standard
};

std::vector<std::string> read_seeds(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t mutations = 0;
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word != "--mutations") {
      paths.emplace_back(word);
      continue;
    }
    const std::string_view number = i + 1 < count ? arguments[++i] : "";
    if (std::from_chars(number.data(), number.data() + number.size(), mutations).ec != std::errc()) paths.clear();
  }
  const std::vector<std::string> seeds = read_seeds(paths);
  if (seeds.empty()) {
    std::fprintf(stderr, "fuzz: no seed; expected SEEDS... [--mutations N]\n");
    return 2;
  }
  set_limits();
  Mutator mutator(seeds);
  for (const std::string& seed : seeds) {
    run(seed);
    for (std::size_t i = 0; i < mutations; ++i) run(mutator.mutated(seed));
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%zu seeds, %zu inputs, %ld MiB at most\n", seeds.size(), seeds.size() * (mutations + 1),
              used.ru_maxrss / 1024);
  return 0;
}
