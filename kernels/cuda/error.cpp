#include "kernels/cuda/error.h"

#include <fmt/format.h>

#include <utility>

namespace claimcheck::kernels::cuda {

namespace {

// Codes that old toolkits have no name for.
constexpr int contained = 226;           // cudaErrorContained
constexpr int tensor_memory_leak = 721;  // cudaErrorTensorMemoryLeak

// After these the context is lost: every later call of this process on this GPU fails with the same code.
bool is_fatal(cudaError_t status) {
  switch (static_cast<int>(status)) {
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case contained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case tensor_memory_leak:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

bool is_unsupported(cudaError_t status) {
  return status == cudaErrorNotSupported || status == cudaErrorPeerAccessUnsupported;
}

std::string remedy_of(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "see whether another process holds the GPU's memory, and whether the driver fits this cuBLAS";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "free memory of the GPU (nvidia-smi lists its processes), or ask for smaller sizes";
    case CUBLAS_STATUS_EXECUTION_FAILED:
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "look for GPU errors in the kernel log (dmesg, lines with Xid); CUBLASLT_LOG_LEVEL=2 shows the call";
    default:
      return {};
  }
}

std::string remedy_of(ncclResult_t status) {
  switch (status) {
    case ncclUnhandledCudaError:
      return "NCCL_DEBUG=INFO shows the CUDA call that failed; look for GPU errors in the kernel log (dmesg, Xid)";
    case ncclSystemError:
      return "NCCL_DEBUG=WARN shows the system call; often /dev/shm is too small (containers: --shm-size), memory may "
             "not be locked (ulimit -l), or a network interface is wrong (NCCL_SOCKET_IFNAME)";
    case ncclRemoteError:
      return "another rank failed or its network connection broke; the first error of the other ranks tells the cause";
    case ncclInvalidUsage:
      return "NCCL_DEBUG=WARN names the reason; two ranks on one GPU, or different NCCL versions, are common";
    case ncclInternalError:
      return "NCCL_DEBUG=INFO shows what came before; a newer NCCL may not have the fault";
    default:
      return {};
  }
}

std::string nccl_name(ncclResult_t status) {
  switch (status) {
    case ncclSuccess:
      return "ncclSuccess";
    case ncclUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case ncclSystemError:
      return "ncclSystemError";
    case ncclInternalError:
      return "ncclInternalError";
    case ncclInvalidArgument:
      return "ncclInvalidArgument";
    case ncclInvalidUsage:
      return "ncclInvalidUsage";
    case ncclRemoteError:
      return "ncclRemoteError";
    case ncclInProgress:
      return "ncclInProgress";
    default:
      return fmt::format("ncclResult {}", static_cast<int>(status));
  }
}

}  // namespace

std::string remedy_of(cudaError_t status) {
  switch (static_cast<int>(status)) {
    case cudaErrorNoDevice:
      return "see that nvidia-smi lists a GPU, that CUDA_VISIBLE_DEVICES does not hide it, and that a container was "
             "started with GPUs (docker run --gpus all)";
    case cudaErrorInvalidDevice:
      return "CUDA_VISIBLE_DEVICES names a GPU that is not there; nvidia-smi -L lists them";
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
      return "install an NVIDIA driver, or a newer one (nvidia-smi shows the driver and the CUDA version it allows)";
    case cudaErrorStubLibrary:
      return "the toolkit's stub of libcuda.so.1 was loaded instead of the driver's; take its folder off "
             "LD_LIBRARY_PATH";
    case cudaErrorSystemNotReady:
      return "start the fabric manager (systemctl start nvidia-fabricmanager), of the driver's own version; GPUs with "
             "NVSwitch do not work without it";
    case cudaErrorSystemDriverMismatch:
      return "the kernel module and libcuda differ in version, as after an update: reboot, or reload the modules; in a "
             "container, remove a libcuda of its own";
    case cudaErrorCompatNotSupportedOnDevice:
      return "the compatibility package (cuda-compat) works on data-centre GPUs only: remove it from LD_LIBRARY_PATH, "
             "or install the newer driver itself";
    case cudaErrorMemoryAllocation:
      return "another process may hold memory of the GPU (nvidia-smi lists them): end it, or ask for smaller sizes";
    case cudaErrorDevicesUnavailable:
      return "the GPU is in exclusive mode and taken, or in an error state: nvidia-smi -q shows its compute mode, its "
             "processes and its errors";
    case cudaErrorECCUncorrectable:
      return "memory of the GPU is faulty: reset it (nvidia-smi -r), look at nvidia-smi -q -d ECC,ROW_REMAPPER, and "
             "have it replaced if it comes back";
    case cudaErrorNvlinkUncorrectable:
      return "an NVLink failed: look at nvidia-smi nvlink -e and the kernel log (Xid 74), reset the GPU, and have it "
             "or "
             "its board replaced if it comes back";
    case contained:
      return "the GPU contained an error of its hardware (Xid 94, 95 in dmesg): reset it, and watch for more";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorUnknown:
      return "look for lines with Xid in the kernel log (dmesg): Xid 13 or 31 alone is a fault of this program worth a "
             "report, Xid 48, 63, 74, 79 or 119 is the hardware's";
    case cudaErrorLaunchTimeout:
      return "the watchdog of a graphical desktop ended the kernel: use a GPU without a display";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidDeviceFunction:
      return "this build has no code for the GPU: build with CMAKE_CUDA_ARCHITECTURES set to its compute capability "
             "(nvidia-smi --query-gpu=compute_cap --format=csv), by a toolkit that knows it";
    case cudaErrorJitCompilerNotFound:
      return "the driver's compiler (libnvidia-ptxjitcompiler) is missing: install the whole driver";
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
      return "the MPS server does not answer or is full: restart nvidia-cuda-mps-control, or unset "
             "CUDA_MPS_PIPE_DIRECTORY";
    case cudaErrorMpsClientTerminated:
      return "another client of the MPS server crashed and took this one with it: measure without MPS";
    case cudaErrorPeerAccessUnsupported:
      return "peer access is off: PCIe access control (ACS), an IOMMU or the virtual machine may prevent it";
    case cudaErrorOperatingSystem:
      return "the operating system refused the driver something: look at the kernel log, and at the limits of locked "
             "memory (ulimit -l) and of open files (ulimit -n)";
    default:
      return {};
  }
}

void check(cudaError_t status, Place place) {
  if (status == cudaSuccess) return;
  // Else the next check(cudaGetLastError()) after a launch would report this failure again. Fatal ones stay anyway.
  static_cast<void>(cudaGetLastError());
  throw Error({.outcome = is_unsupported(status) ? Outcome::unsupported : Outcome::failed,
               .library = "CUDA",
               .code = cudaGetErrorName(status),
               .text = cudaGetErrorString(status),
               .remedy = remedy_of(status),
               .context_dead = is_fatal(status)},
              place);
}

void check(cublasStatus_t status, Place place) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const bool unsupported = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH;
  throw Error({.outcome = unsupported ? Outcome::unsupported : Outcome::failed,
               .library = "cuBLASLt",
               .code = cublasLtGetStatusName(status),
               .text = cublasLtGetStatusString(status),
               .remedy = remedy_of(status)},
              place);
}

void check(ncclResult_t status, Place place) {
  if (status == ncclSuccess) return;
  const char* const last = ncclGetLastError(nullptr);
  std::string text = ncclGetErrorString(status);
  if (last != nullptr && *last != '\0') text += fmt::format(": {}", last);
  while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
  throw Error({.outcome = Outcome::failed,
               .library = "NCCL",
               .code = nccl_name(status),
               .text = std::move(text),
               .remedy = remedy_of(status)},
              place);
}

void ignore(cudaError_t status) noexcept {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
}

}  // namespace claimcheck::kernels::cuda
