// Sums of one slice over all ranks, written to one or all of them.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/data_type.h"

namespace claimcheck::kernels::host {

// Whether sums of this type can be computed here.
bool can_sum(DataType type);

// targets[t][i] = sum over sources of sources[s][i], i < count; summed in the order of the sources, so that every rank
// gets the same bits. fp16 and bf16 are summed in fp32 and rounded once; integers wrap around, as in NCCL.
// A target may be one of the sources. `bypass`: past the caches, as in memory_loops.h.
void sum_slices(DataType type, std::span<const std::byte* const> sources, std::span<std::byte* const> targets,
                std::size_t count, bool bypass);

}  // namespace claimcheck::kernels::host
