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

}  // namespace claimcheck::kernels
