// A slow network for tests of several processes: preloaded into a process, each of its messages takes longer. SLOW_MPI:
// "NANOSECONDS", of a byte, or "NANOSECONDS:PROCESS" for messages to that process only. The sender sleeps, so that the
// others have the CPU, and figures depend little on how busy the machine is.
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator,
                         MPI_Request* request) {
  const char* const wanted = std::getenv("SLOW_MPI");
  if (wanted != nullptr) {
    const char* const only = std::strchr(wanted, ':');
    if (only == nullptr || std::atoi(only + 1) == to)
      std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(std::atof(wanted) * count));
  }
  return PMPI_Isend(data, count, type, to, tag, communicator, request);
}
