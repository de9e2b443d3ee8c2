// Switching between stacks of one thread of the operating system.
#pragma once

#include <vector>

namespace virtual_platform {

// Saves where this stack is in `*here` and goes on where `there` was saved.
extern "C" void virtual_platform_switch(void** here, void* there);

// A stack on which `run` is called at the first switch to the place returned; `run` must not return.
void* prepare_fiber(char* stack, void (*run)());

// Stacks with a guard page, kept for the next user. Of one thread.
class Stacks {
 public:
  Stacks() = default;
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  char* take();
  void give(char* stack) { free_.push_back(stack); }

 private:
  std::vector<char*> free_;
  std::vector<void*> mapped_;
};

}  // namespace virtual_platform
