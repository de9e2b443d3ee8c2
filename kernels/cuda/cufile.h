// GPUDirect Storage: files read and written by a GPU's memory itself, through libcufile, which is loaded when first
// asked for.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/cufile_abi.h"
#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

// The functions of the library. Its driver is opened once and stays open to the end of the process: other code of the
// library may use it.
struct CuFileLibrary {
  // On failure `reason` says why, and `remedy` what to do about it.
  explicit CuFileLibrary(const char* path);
  CuFileLibrary(const CuFileLibrary&) = delete;
  CuFileLibrary& operator=(const CuFileLibrary&) = delete;

  std::string reason;  // empty: usable
  std::string remedy;
  int version = 0;  // 0: unknown
  cufile::HandleRegister handle_register = nullptr;
  cufile::HandleDeregister handle_deregister = nullptr;
  cufile::BufferRegister buffer_register = nullptr;
  cufile::BufferDeregister buffer_deregister = nullptr;
  cufile::Read read = nullptr;
  cufile::Write write = nullptr;
};

// In words, with its number: "GPUDirect Storage is not supported on this file system (cuFile 5008)".
std::string cufile_text(int code, int cuda_code = 0);

// Throws unsupported with the reason. Never by way of the host: the library's compatibility mode, which does that
// silently, is switched off. `ordinal` is the GPU the memory belongs to, -1 for the host's.
std::unique_ptr<DirectFile> open_direct_file(const CuFileLibrary& library, int ordinal, int descriptor, Buffer& memory);
const CuFileLibrary& cufile_library();

}  // namespace claimcheck::kernels::cuda
