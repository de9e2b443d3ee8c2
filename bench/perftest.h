// The programs of perftest: their command lines, and what their tables say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/rdma_ports.h"

namespace claimcheck::bench {

enum class RdmaTest { write, read, send_latency };

inline constexpr int perftest_message_bytes = 1 << 20;
inline constexpr int perftest_iterations = 5000;

std::string perftest_program(RdmaTest test);  // "ib_write_bw"

// The table is read and not --out_json: versions write JSON without quotes, or none, and all print the same table. A
// number of iterations and not a duration, for which perftest wants more than twice its margin of 2 s.
// `server`: whom to connect to; empty: wait for the other side.
std::vector<std::string> perftest_arguments(RdmaTest test, const RdmaPort& port, int tcp_port,
                                            const std::string& server);

// The first line of words that is no fact of the run, which is how it complains.
std::string perftest_complaint(const std::string& output, const std::string& errors);

// GB/s, or microseconds one way. Throws failed with what the program said when there is no such figure, unsupported
// where it says that this version does not do this kind of operation on the adapter.
double parse_perftest(RdmaTest test, int exit_code, const std::string& output, const std::string& errors);

}  // namespace claimcheck::bench
