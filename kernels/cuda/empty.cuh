// A kernel that does nothing, for the latency of launches.
#pragma once

namespace claimcheck::kernels::cuda {

__global__ void do_nothing() {}

}  // namespace claimcheck::kernels::cuda
