#include "kernels/mpi/calls.h"

#include <mpi.h>

#include <cstddef>
#include <cstring>

namespace {

constexpr std::size_t request_bytes = sizeof(MPI_Request);  // NOLINT(bugprone-sizeof-expression): the pointer itself
static_assert(request_bytes <= sizeof(ClaimcheckMpiRequest));

MPI_Comm communicator = MPI_COMM_NULL;  // our own: no message of anybody else

// Runs `call` with an MPI_Request and keeps what it became.
template <class Call>
int begin(ClaimcheckMpiRequest* kept, Call call) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = call(&request);
  std::memcpy(&kept->storage, &request, request_bytes);
  return code;
}

int start(int* process, int* processes, char* library, int library_bytes) {
  int level = MPI_THREAD_SINGLE;
  // Ranks that are threads exchange messages; the worker lets one of them in at a time.
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level); code != MPI_SUCCESS)
    return code;
  if (level < MPI_THREAD_SERIALIZED) return MPI_ERR_UNSUPPORTED_OPERATION;
  // Errors come back as codes instead of ending the process.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const int code = MPI_Comm_dup(MPI_COMM_WORLD, &communicator); code != MPI_SUCCESS) return code;
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator, process);
  MPI_Comm_size(communicator, processes);
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::strncpy(library, text, static_cast<std::size_t>(library_bytes) - 1);
  library[library_bytes - 1] = '\0';
  return MPI_SUCCESS;
}

int finish() { return MPI_Finalize(); }

void text_of(int code, char* text, int text_bytes) {
  char all[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, all, &length);
  std::strncpy(text, all, static_cast<std::size_t>(text_bytes) - 1);
  text[text_bytes - 1] = '\0';
}

int max(const double* mine, double* all, int count, ClaimcheckMpiRequest* kept) {
  return begin(kept, [&](MPI_Request* request) {
    return MPI_Iallreduce(mine, all, count, MPI_DOUBLE, MPI_MAX, communicator, request);
  });
}

int gather(const void* mine, int bytes, void* all, ClaimcheckMpiRequest* kept) {
  return begin(kept, [&](MPI_Request* request) {
    return MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, communicator, request);
  });
}

int broadcast(void* data, int bytes, ClaimcheckMpiRequest* kept) {
  return begin(kept, [&](MPI_Request* request) { return MPI_Ibcast(data, bytes, MPI_BYTE, 0, communicator, request); });
}

int send(const void* data, int bytes, int to, int tag, ClaimcheckMpiRequest* kept) {
  return begin(kept,
               [&](MPI_Request* request) { return MPI_Isend(data, bytes, MPI_BYTE, to, tag, communicator, request); });
}

int receive(void* data, int bytes, int from, int tag, ClaimcheckMpiRequest* kept) {
  return begin(
      kept, [&](MPI_Request* request) { return MPI_Irecv(data, bytes, MPI_BYTE, from, tag, communicator, request); });
}

int test(ClaimcheckMpiRequest* kept, int* done) {
  MPI_Request request = MPI_REQUEST_NULL;
  std::memcpy(&request, &kept->storage, request_bytes);
  const int code = MPI_Test(&request, done, MPI_STATUS_IGNORE);
  std::memcpy(&kept->storage, &request, request_bytes);
  return code;
}

}  // namespace

const ClaimcheckMpi* claimcheck_mpi_1() {
  static const ClaimcheckMpi calls = {start, finish, text_of, max, gather, broadcast, send, receive, test};
  return &calls;
}
