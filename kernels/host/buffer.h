// Memory of the host device: whole huge pages where the system has them. Work in flight keeps it alive.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/device.h"

namespace claimcheck::kernels::host {

class Mapping {
 public:
  // Throws failed with the wanted and the free size when memory does not suffice. Pages are not touched yet.
  explicit Mapping(std::size_t size_bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* address() const { return address_; }

 private:
  std::byte* address_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::shared_ptr<Mapping> mapping, std::size_t size_bytes, Placement placement)
      : Buffer(mapping->address(), size_bytes, placement), mapping_(std::move(mapping)) {}

  const std::shared_ptr<Mapping>& mapping() const { return mapping_; }

 private:
  std::shared_ptr<Mapping> mapping_;
};

// A slice that work can hold on to after the buffer is gone.
struct Region {
  std::shared_ptr<Mapping> keep;
  std::byte* address = nullptr;
  std::size_t size_bytes = 0;

  template <class Value>
  Value* as() const {
    return reinterpret_cast<Value*>(address);
  }
};

// `what` names the slice in the error that says it does not lie within its buffer: "the send slice of rank 3".
Region region_of(const Slice& slice, const char* what);

}  // namespace claimcheck::kernels::host
