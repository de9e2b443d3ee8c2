#include "kernels/device.h"

namespace claimcheck::kernels {

std::string_view to_string(MemoryKernel kernel) {
  switch (kernel) {
    case MemoryKernel::read:
      return "read";
    case MemoryKernel::write:
      return "write";
    case MemoryKernel::copy:
      return "copy";
    case MemoryKernel::scale:
      return "scale";
    case MemoryKernel::add:
      return "add";
    case MemoryKernel::triad:
      return "triad";
  }
  return "unknown";
}

int arrays_moved(MemoryKernel kernel) {
  switch (kernel) {
    case MemoryKernel::read:
    case MemoryKernel::write:
      return 1;
    case MemoryKernel::copy:
    case MemoryKernel::scale:
      return 2;
    case MemoryKernel::add:
    case MemoryKernel::triad:
      return 3;
  }
  return 0;
}

std::string_view to_string(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::broadcast:
      return "broadcast";
    case Collective::send_receive:
      return "send_receive";
    case Collective::all_to_all:
      return "all_to_all";
  }
  return "unknown";
}

std::string_view to_string(VectorOp op) {
  switch (op) {
    case VectorOp::fp64:
      return "fp64";
    case VectorOp::fp32:
      return "fp32";
    case VectorOp::fp16:
      return "fp16";
    case VectorOp::bf16:
      return "bf16";
    case VectorOp::int32:
      return "int32";
    case VectorOp::dp4a:
      return "dp4a";
  }
  return "unknown";
}

void Device::chase(Stream& /*stream*/, Slice /*list*/, std::int64_t /*loads*/, Slice /*last*/) {
  throw unsupported("latency of single loads is measured on GPUs only");
}

std::unique_ptr<VectorChains> Device::make_vector(VectorOp /*op*/) {
  throw unsupported("the rate of the vector units is measured on GPUs only");
}

std::unique_ptr<TensorTiles> Device::make_tensor(DataType /*type*/) {
  throw unsupported("there are no matrix units here that instructions of one thread group reach");
}

std::unique_ptr<Neural> Device::make_neural() {
  throw unsupported("this kind of device has no operations of a training step");
}

void Device::order(Stream& /*later*/, Stream& /*earlier*/) {
  throw unsupported("this kind of device cannot let one stream wait for another");
}

std::unique_ptr<DirectFile> Device::open_direct_file(int /*descriptor*/, Buffer& /*memory*/) {
  throw unsupported("files reach the memory of GPUs only without the host's in between (GPUDirect Storage)");
}

void Device::launch_empty(Stream& /*stream*/) { throw unsupported("kernels are launched on GPUs only"); }

}  // namespace claimcheck::kernels
