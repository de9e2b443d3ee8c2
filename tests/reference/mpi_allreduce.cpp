// All-reduce of the host group beside MPI_Allreduce of the installed MPI, in turn, in the same processes and on the
// same buffers, fp32:  mpirun -np 2 reference_allreduce [REPETITIONS] Prints medians and quartiles of the slowest
// process. MPI is started by the worker's library.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/device.h"

namespace kernels = claimcheck::kernels;

namespace {

constexpr kernels::Duration patience{60};

double seconds_of(const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  work();
  const double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

struct Times {
  std::vector<double> all;
  double at(double share) {
    std::sort(all.begin(), all.end());
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  }
};

void compare(kernels::Device& device, kernels::Group& group, std::size_t bytes, int repetitions, bool print) {
  const auto stream = device.make_stream();
  kernels::Stream* const streams[] = {stream.get()};
  const auto send = device.allocate(bytes);
  const auto receive = device.allocate(bytes);
  device.fill(*stream, *send, kernels::DataType::fp32, kernels::Pattern::normal, 1);
  stream->wait(patience);
  const kernels::Group::Buffers buffers[] = {{*send, *receive}};
  // Several in a row, as a training step does and as benchmarks of MPI do.
  const int passes = std::max(1, static_cast<int>((std::size_t{64} << 20) / bytes));
  const auto ours = [&] {
    for (int pass = 0; pass < passes; ++pass)
      group.enqueue(kernels::Collective::all_reduce, buffers, bytes / 4, kernels::DataType::fp32, streams);
    group.wait(streams, patience);
  };
  const auto theirs = [&] {
    for (int pass = 0; pass < passes; ++pass)
      MPI_Allreduce(send->address(), receive->address(), static_cast<int>(bytes / 4), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
  };
  ours();
  theirs();
  Times claimcheck;
  Times mpi;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    claimcheck.all.push_back(seconds_of(ours) / passes);
    mpi.all.push_back(seconds_of(theirs) / passes);
  }
  if (!print) return;
  const auto rate = [&](double seconds) { return static_cast<double>(bytes) / seconds / 1e9; };
  fmt::print(
      "{:>10} bytes  claimcheck {:6.2f} GB/s ({:.2f} to {:.2f})  MPI {:6.2f} GB/s ({:.2f} to {:.2f})  {:5.2f} x\n",
      bytes, rate(claimcheck.at(0.5)), rate(claimcheck.at(0.75)), rate(claimcheck.at(0.25)), rate(mpi.at(0.5)),
      rate(mpi.at(0.75)), rate(mpi.at(0.25)), mpi.at(0.5) / claimcheck.at(0.5));
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 15;
  const auto world = kernels::open_world(patience);
  if (world->processes() == 1) {
    fmt::print(stderr, "start it with mpirun -np 2\n");
    return 2;
  }
  const auto platform = kernels::open_platform({.threads = 1, .world = world.get()});
  const auto group = platform->make_group(platform->ranks(), *world);
  for (std::size_t bytes = std::size_t{256} << 10; bytes <= std::size_t{128} << 20; bytes *= 2)
    compare(*platform->ranks()[0], *group, bytes, repetitions, world->process() == 0);
  return 0;
}
