// The fio program: its command lines, and what its JSON output says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace claimcheck::bench {

// How fio is asked to keep requests in flight: asynchronously from few threads, or from one thread a request.
struct FioEngine {
  std::string name;
  int jobs = 1;
  int depth = 1;  // of each job
};

// From what `fio --enghelp` prints; `requests` in flight, over at most `threads` threads where that is free to choose.
FioEngine fio_engine(std::string_view engine_list, int requests, int threads);

struct FioResult {
  std::string version;
  double iops = 0;
  double latency_us = 0;  // mean, from submission to completion
  double seconds = 0;
  double operations = 0;
  double bytes = 0;
};

// `direction` is "read" or "write". Lines before the document are passed over, as fio prints its messages there. Throws
// wrong_result when a checksum did not fit, failed with fio's own message when a job failed otherwise, or with what is
// missing when this is not fio's JSON.
FioResult parse_fio(const std::string& output, const std::string& direction);

}  // namespace claimcheck::bench
