// What the worker needs of MPI, as plain C functions in a library of its own (libclaimcheck_mpi.so): the worker starts
// where no MPI is, and no C++ object or exception crosses between the two. Every call that may wait is non-blocking and
// has to be tested. All return 0, or MPI's code.
#pragma once

#include <cstdint>

extern "C" {

// Holds an MPI_Request, which is a pointer in some MPIs and a number in others.
struct ClaimcheckMpiRequest {
  std::uint64_t storage;
};

struct ClaimcheckMpi {
  // Connects; may take seconds, and waits for the other processes.
  int (*start)(int* process, int* processes, char* library, int library_bytes);
  int (*finish)();
  void (*text_of)(int code, char* text, int text_bytes);
  // Maximum of each of `count` doubles over all processes.
  int (*max)(const double* mine, double* all, int count, ClaimcheckMpiRequest* request);
  // `bytes` from each process to all, in process order.
  int (*gather)(const void* mine, int bytes, void* all, ClaimcheckMpiRequest* request);
  int (*broadcast)(void* data, int bytes, ClaimcheckMpiRequest* request);  // from process 0
  int (*send)(const void* data, int bytes, int to, int tag, ClaimcheckMpiRequest* request);
  int (*receive)(void* data, int bytes, int from, int tag, ClaimcheckMpiRequest* request);
  int (*test)(ClaimcheckMpiRequest* request, int* done);
};

// Raised whenever the table changes; part of the symbol's name, so that an old library is refused when it is loaded.
#define CLAIMCHECK_MPI_SYMBOL "claimcheck_mpi_1"
const ClaimcheckMpi* claimcheck_mpi_1();

}  // extern "C"
