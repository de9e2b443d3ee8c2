#include "kernels/cuda/cufile.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/cuda/buffer.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

namespace {

constexpr const char* see_gdscheck = "gdscheck -p (package gds-tools) shows what is missing";

Error failed(std::string text) {
  return Error({.outcome = Outcome::failed,
                .library = "cuFile",
                .code = {},
                .text = std::move(text),
                .remedy = "cufile.log in the working directory says more"});
}

// What the library calls by its codes.
std::string words_of(int code) {
  switch (code) {
    case 5001:
      return "the nvidia-fs driver is not loaded";
    case 5004:
    case 5005:
      return "the nvidia-fs driver does not fit this cuFile";
    case 5007:
      return "this platform has no GPUDirect Storage";
    case 5008:
      return "GPUDirect Storage is not supported on this file system";
    case 5009:
      return "this GPU has no GPUDirect Storage";
    case 5010:
    case 5033:
    case 5048:
      return "the nvidia-fs driver failed";
    case cufile::cuda_driver_error:
      return "the CUDA driver failed";
    case 5025:
      return "access was refused";
    case 5034:
      return "the configuration (cufile.json) switches GPUDirect Storage off for this file";
    case 5036:
      return "the GPU's memory could not be pinned";
    case 5044:
      return "reading or writing failed";
    default:
      return "it failed";
  }
}

// The calling thread's current GPU, where the memory is that of one.
class OnGpu {
 public:
  explicit OnGpu(int ordinal) {
    if (ordinal >= 0) current_.emplace(ordinal);
  }

 private:
  std::optional<Current> current_;
};

class CuFile final : public DirectFile {
 public:
  CuFile(const CuFileLibrary& library, int ordinal, int descriptor, Buffer& memory)
      : library_(library), ordinal_(ordinal), memory_(memory) {
    const OnGpu on_gpu(ordinal_);
    cufile::Description description{};
    description.type = cufile::handle_of_descriptor;
    description.handle.descriptor = descriptor;
    const cufile::Status status = library_.handle_register(&handle_, &description);
    if (status.code != cufile::success)
      throw unsupported("GPUDirect Storage cannot use this file: " + cufile_text(status.code, status.cuda_code),
                        see_gdscheck);
    // Where the window of the GPU's PCIe memory (BAR1) is too small the library goes through a small buffer of the GPU.
    registered_ = library_.buffer_register(memory.address(), memory.size_bytes(), 0).code == cufile::success;
  }
  ~CuFile() override {
    if (registered_) library_.buffer_deregister(memory_.address());
    library_.handle_deregister(handle_);
  }
  CuFile(const CuFile&) = delete;
  CuFile& operator=(const CuFile&) = delete;

  void write(std::size_t offset_bytes, Slice source) override {
    move(offset_bytes, source, "written", [&](std::size_t done, std::size_t rest) {
      return library_.write(handle_, memory_.address(), rest, static_cast<off_t>(offset_bytes + done),
                            static_cast<off_t>(source.offset_bytes + done));
    });
  }
  void read(std::size_t offset_bytes, Slice target) override {
    move(offset_bytes, target, "read", [&](std::size_t done, std::size_t rest) {
      return library_.read(handle_, memory_.address(), rest, static_cast<off_t>(offset_bytes + done),
                           static_cast<off_t>(target.offset_bytes + done));
    });
  }

  Facts facts() const override {
    const Fact version = library_.version == 0
                             ? Fact()
                             : Fact(fmt::format("{}.{}", library_.version / 1000, library_.version % 1000 / 10));
    return {{"library", std::string("cuFile")}, {"version", version}, {"memory_registered", registered_}};
  }

 private:
  template <class Call>
  void move(std::size_t offset, const Slice& slice, const char* verb, Call call) {
    if (slice.buffer != &memory_) throw mistake("a direct file moves the memory it was opened for, and no other");
    address_of(slice, "what a file holds");
    const OnGpu on_gpu(ordinal_);
    for (std::size_t done = 0; done < slice.size_bytes;) {
      errno = 0;
      const ssize_t moved = call(done, slice.size_bytes - done);
      if (moved > 0) {
        done += static_cast<std::size_t>(moved);
        continue;
      }
      if (moved == -1 && errno == EINTR) continue;
      if (moved == 0) throw wrong_result(fmt::format("the file ends at byte {}; more was expected", offset + done));
      const int code = moved == -1 ? errno : static_cast<int>(-moved);
      throw failed(fmt::format("the file cannot be {} at byte {}: {}", verb, offset + done, cufile_text(code)));
    }
  }

  const CuFileLibrary& library_;
  int ordinal_;
  Buffer& memory_;
  cufile::Handle handle_ = nullptr;
  bool registered_ = false;
};

template <class Function>
bool find(void* library, Function& function, const char* name) {
  void* const address = dlsym(library, name);
  function = reinterpret_cast<Function>(address);
  return address != nullptr;
}

}  // namespace

std::string cufile_text(int code, int cuda_code) {
  if (code <= cufile::first_code) return fmt::format("{} (errno {})", std::strerror(code), code);
  if (code == cufile::cuda_driver_error) return fmt::format("{} (cuFile {}, CUDA {})", words_of(code), code, cuda_code);
  return fmt::format("{} (cuFile {})", words_of(code), code);
}

CuFileLibrary::CuFileLibrary(const char* path) {
  // Read by the library when it starts. A user's own choice is of no use here: copies through the host would be
  // measured as if they were direct.
  setenv("CUFILE_ALLOW_COMPAT_MODE", "false", 1);
  setenv("CUFILE_FORCE_COMPAT_MODE", "false", 1);
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    reason = fmt::format("there is no GPUDirect Storage here: {} cannot be loaded", path);
    remedy = "install libcufile of the CUDA toolkit and the nvidia-fs driver, where the storage supports it";
    return;
  }
  cufile::DriverOpen driver_open = nullptr;
  const bool complete =
      find(handle, driver_open, "cuFileDriverOpen") && find(handle, handle_register, "cuFileHandleRegister") &&
      find(handle, handle_deregister, "cuFileHandleDeregister") && find(handle, buffer_register, "cuFileBufRegister") &&
      find(handle, buffer_deregister, "cuFileBufDeregister") && find(handle, read, "cuFileRead") &&
      find(handle, write, "cuFileWrite");
  if (!complete) {
    reason = fmt::format("{} lacks functions of GPUDirect Storage", path);
    remedy = "install the cuFile of CUDA 11.4 or newer";
    return;
  }
  const cufile::Status status = driver_open();
  if (status.code != cufile::success) {
    reason = "GPUDirect Storage does not start: " + cufile_text(status.code, status.cuda_code);
    remedy = see_gdscheck;
    return;
  }
  cufile::GetVersion get_version = nullptr;  // not in old ones
  if (find(handle, get_version, "cuFileGetVersion") && get_version(&version).code != cufile::success) version = 0;
}

const CuFileLibrary& cufile_library() {
  static const CuFileLibrary library("libcufile.so.0");
  return library;
}

std::unique_ptr<DirectFile> open_direct_file(const CuFileLibrary& library, int ordinal, int descriptor,
                                             Buffer& memory) {
  if (!library.reason.empty()) throw unsupported(library.reason, library.remedy);
  return std::make_unique<CuFile>(library, ordinal, descriptor, memory);
}

}  // namespace claimcheck::kernels::cuda
