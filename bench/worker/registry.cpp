#include "bench/worker/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <set>
#include <stdexcept>

#include "bench/worker/nearest.h"
#include "bench/worker/options.h"

namespace claimcheck::bench {

namespace {

// A function's static: files declare their benchmarks before main(), in no known order.
std::vector<Benchmark>& declared() {
  static std::vector<Benchmark> benchmarks;
  return benchmarks;
}

}  // namespace

bool add(Benchmark benchmark) {
  std::vector<Benchmark>& benchmarks = declared();
  const auto place = std::lower_bound(benchmarks.begin(), benchmarks.end(), benchmark.id,
                                      [](const Benchmark& other, const std::string& id) { return other.id < id; });
  if (place != benchmarks.end() && place->id == benchmark.id)
    throw std::logic_error(fmt::format("benchmark {} is declared twice", benchmark.id));
  benchmarks.insert(place, std::move(benchmark));
  return true;
}

std::span<const Benchmark> all() { return declared(); }

Failure current_failure() {
  try {
    throw;
  } catch (const kernels::Error& error) {
    return {error.detail().outcome, error.what(), error.detail().context_dead};
  } catch (const std::bad_alloc&) {
    return {kernels::Outcome::failed, "the host's memory does not suffice; lower --max-bytes", false};
  } catch (const std::exception& error) {
    return {kernels::Outcome::failed, error.what(), false};
  } catch (...) {
    return {kernels::Outcome::failed, "an exception of unknown type", false};
  }
}

std::vector<ListedCase> list_cases(kernels::Platform& platform, const Options& options) {
  std::vector<ListedCase> result;
  for (const Benchmark& benchmark : all()) {
    std::vector<Case> cases = {Case{}};
    std::optional<Failure> failure;
    try {
      if (benchmark.cases) cases = benchmark.cases(platform, options);
    } catch (...) {
      failure = current_failure();
    }
    for (const Case& chosen : cases) {
      const std::string id = chosen.label.empty() ? benchmark.id : benchmark.id + '/' + chosen.label;
      result.push_back({&benchmark, chosen, id, failure});
    }
  }
  return result;
}

namespace {

// A case of a benchmark whose cases cannot be listed here, because of a failure that whoever asks for it did not meet.
bool may_be_case_of(const ListedCase& listed, const std::string& wanted) {
  return listed.failure && wanted.rfind(listed.benchmark->id + '/', 0) == 0;
}

}  // namespace

std::vector<ListedCase> choose(const std::vector<ListedCase>& cases, const std::vector<std::string>& only) {
  if (only.empty()) return cases;
  std::vector<ListedCase> result;
  std::set<std::string> taken;
  for (const std::string& wanted : only) {
    bool found = false;
    for (const ListedCase& listed : cases) {
      const bool unlisted = may_be_case_of(listed, wanted);
      if (listed.id != wanted && listed.benchmark->id != wanted && !unlisted) continue;
      found = true;
      if (!taken.insert(unlisted ? wanted : listed.id).second) continue;
      result.push_back(listed);
      if (unlisted) result.back().id = wanted;
    }
    if (found) continue;
    std::vector<std::string> ids;
    ids.reserve(cases.size());
    for (const ListedCase& listed : cases) ids.push_back(listed.id);
    throw UsageError(fmt::format("unknown benchmark '{}'; the nearest is {}", wanted, nearest(wanted, ids)));
  }
  return result;
}

}  // namespace claimcheck::bench
