// Who started whom, as /proc says.
#pragma once

#include <sys/types.h>

#include <set>

namespace claimcheck {

// Empty where /proc does not say (a process that is gone, a kernel without CONFIG_PROC_CHILDREN).
std::set<pid_t> children_of(pid_t process);

// Children, their children and so on, without the process itself.
std::set<pid_t> descendants_of(pid_t process);

}  // namespace claimcheck
