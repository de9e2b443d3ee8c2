// Where NCCL's debug output goes, so that it can be read: a file in memory that only this process has.
#pragma once

#include <cstddef>
#include <string>

namespace claimcheck::kernels::cuda {

// Asks NCCL for its output, unless the user did (any of NCCL_DEBUG, NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE is set: then it
// goes where they want it and is not read). To be called before the first NCCL call and before there are threads, since
// it sets environment variables.
void ask_for_nccl_output();

bool nccl_output_is_ours();

// What was written from `position` on, which is moved behind it. The memory of what was read is given back: NCCL writes
// a line for each collective.
std::string read_nccl_output(std::size_t& position);
std::size_t nccl_output_size();

}  // namespace claimcheck::kernels::cuda
