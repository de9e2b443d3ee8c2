// Memory that the processes of one node share: a file in /dev/shm that has no name any more once all have it.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/device.h"

namespace claimcheck::kernels::host {

class SharedSegment {
 public:
  // Called by all processes of the world at once, with the same size. Zeros; pages are reserved by reserve().
  SharedSegment(World& world, std::size_t size_bytes);
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  std::byte* address() const { return address_; }
  // Takes the memory next to the calling process. Throws with the remedy when /dev/shm is too small: touching a page
  // that is not there would end the process without a word.
  void reserve(std::size_t first, std::size_t bytes);
  // Once all have it: nothing stays behind, however the processes end.
  void forget_name();

 private:
  std::string name_;  // of the process that made it; empty in the others and once it is forgotten
  int file_ = -1;
  std::byte* address_ = nullptr;
  std::size_t size_bytes_;
};

}  // namespace claimcheck::kernels::host
