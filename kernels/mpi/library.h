// Finds and loads libclaimcheck_mpi.so, which lies beside the worker or in lib/claimcheck of where it is installed.
#pragma once

#include "kernels/launch.h"
#include "kernels/mpi/calls.h"

namespace claimcheck::kernels {

// Throws with the remedy when the library or the MPI it is linked with is missing. Stays loaded until the process ends.
const ClaimcheckMpi& load_mpi(const Launch& launch);

// "2 processes were started by Open MPI", for errors.
std::string describe(const Launch& launch);

}  // namespace claimcheck::kernels
