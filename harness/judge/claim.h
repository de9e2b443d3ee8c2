// The user's own claims, as --claim takes them: metric[condition=value,...] operator value unit.
//   memory.triad.gbps>=2900            gemm.bf16.tflops >= 0.7 PFLOPS       allreduce.latency.us<=0.02ms
//   gemm.fp32.tflops[n=4096]>=1        gemm.bf16.tflops[sparse=yes]>=1979   scaling.gemm.efficiency>=90 %
//   gemm.bf16.tflops[peak=yes]>=989     a data sheet's arithmetic peak, converted as docs/judging.md says
//   identity.accelerator==H100 SXM      identity.accelerator_count==8      identity.accelerator_memory_gb>=80
//   identity.vcpus==192                 identity.ram_gib>=2048             identity.local_nvme_gb>=30000
//   identity.software.pytorch>=2.4      identity.software.docker==present  what is installed (harness/judge/software.h)
//   transport.network==EFA              what collectives between nodes went over
// Operators: >= <= > < ==. The unit may be left out (the metric's own) or be any of the same dimension.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/result/verdict.h"

namespace claimcheck {

// The claim with its value in the metric's unit; what was written stays in definition.given. Conditions in brackets go
// to definition.conditions, `sparse=yes` to definition.sparse, `per=node` to definition.per. Documents know >=, <= and
// ==: > and < become the first two with definition.strictly. Its id is "user:<number>".
// Throws UserError naming the position and what was expected there, or the nearest metric.
Claim parse_claim(std::string_view text, std::size_t number = 1);

// Numbers them from 1.
std::vector<Claim> parse_claims(const std::vector<std::string>& texts);

// "memory.triad.gbps >= 2900 GB/s", for people.
std::string to_text(const Claim& claim);

}  // namespace claimcheck
