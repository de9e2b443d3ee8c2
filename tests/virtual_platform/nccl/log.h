// NCCL's debug output, in its own format, for the lines the product reads. As in the library, NCCL_DEBUG,
// NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE (with %h and %p) are looked at once, by the first line.
#pragma once

#include <string>

namespace virtual_platform::nccl {

// The library's subsystems, as far as used here.
enum Subsystem : unsigned { log_init = 0x1, log_p2p = 0x4, log_net = 0x10, log_tuning = 0x200 };

// "HOST:PROCESS:THREAD [DEVICE] NCCL INFO TEXT", when NCCL_DEBUG is INFO and one of the subsystems is asked for.
void info(unsigned subsystems, int device, const std::string& text);

}  // namespace virtual_platform::nccl
