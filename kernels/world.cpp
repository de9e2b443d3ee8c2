// What is the same for every World, and the choice of one from the environment.
#include <cstdlib>

#include "kernels/device.h"
#include "kernels/launch.h"
#include "kernels/mpi/library.h"
#include "kernels/mpi/mpi_world.h"

namespace claimcheck::kernels {

PeersFailed::PeersFailed(PhaseReports reports, std::source_location place)
    : Error({.outcome = Outcome::failed,
             .library = "claimcheck",
             .code = {},
             .text = "another process of this run failed",
             .remedy = {}},
            place),
      reports_(std::make_shared<const PhaseReports>(std::move(reports))) {}

bool World::exchange(const Exchange& /*what*/, const std::function<bool()>& /*give_up*/) {
  throw Error({.outcome = Outcome::failed,
               .library = "claimcheck",
               .code = {},
               .text = "there is one process only, nobody to exchange with",
               .remedy = {}});
}

namespace {

Launch launch_of_this_process() {
  return read_launch([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace

bool first_of_its_node() {
  const Launch launch = launch_of_this_process();
  return launch.local_process.value_or(launch.process) == 0;
}

std::unique_ptr<World> open_world(Duration deadline) {
  const Launch launch = launch_of_this_process();
  if (!launch.several()) return std::make_unique<World>();
  if (!launch.connected)
    throw Error({.outcome = Outcome::failed,
                 .library = "MPI",
                 .code = {},
                 .text = describe(launch) + ", which did not say how they find each other",
                 .remedy = "start them with srun --mpi=pmix (srun --mpi=list shows what this Slurm has)"});
  return std::make_unique<MpiWorld>(load_mpi(launch), launch, deadline);
}

}  // namespace claimcheck::kernels
