#include "tests/virtual_platform/emulator/fiber.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#ifndef __x86_64__
#error "The virtual platform switches stacks on x86-64 only"
#endif

// The registers a function must keep are pushed, the stack pointers change places.
asm(R"(
.text
.globl virtual_platform_switch
.type virtual_platform_switch, @function
virtual_platform_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size virtual_platform_switch, .-virtual_platform_switch
)");

namespace virtual_platform {

namespace {

constexpr std::size_t stack_bytes = std::size_t{128} << 10;
constexpr std::size_t guard_bytes = 4096;
// Tops of stacks are this far apart in the caches, in so many places: threads of a block run a little each, and tops at
// equal distances of a power of two would drive each other out.
constexpr std::size_t colour_bytes = 448;
constexpr std::size_t colours = 64;
constexpr std::size_t mapped_bytes = stack_bytes + colours * colour_bytes / guard_bytes * guard_bytes + guard_bytes;

}  // namespace

void* prepare_fiber(char* stack, void (*run)()) {
  constexpr int saved_registers = 6;
  auto* top = reinterpret_cast<void**>(stack + stack_bytes);
  *--top = nullptr;  // the stack's alignment as after a call
  *--top = reinterpret_cast<void*>(run);
  for (int i = 0; i < saved_registers; ++i) *--top = nullptr;
  return top;
}

Stacks::~Stacks() {
  for (void* memory : mapped_) munmap(memory, mapped_bytes);
}

char* Stacks::take() {
  if (free_.empty()) {
    void* memory = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, guard_bytes, PROT_NONE) != 0) {
      std::perror("virtual platform: stack of a fiber");
      std::abort();
    }
    free_.push_back(static_cast<char*>(memory) + mapped_.size() % colours * colour_bytes);
    mapped_.push_back(memory);
  }
  char* stack = free_.back();
  free_.pop_back();
  return stack;
}

}  // namespace virtual_platform
