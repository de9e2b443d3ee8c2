// A checkpoint's file as programs that save them make it: written past the page cache, brought to the device, and given
// its name in one step, so that nobody ever sees half of one. It never outlives the process, however that ends.
#pragma once

#include <cstddef>
#include <string>

#include "bench/checkpoint_place.h"

namespace claimcheck::bench {

class PublishedFile {
 public:
  enum class Naming {
    late,  // no name until publish(), where the file system can do that: a crash leaves nothing behind
    early  // for libraries that look at the path of what they are given
  };

  // Preallocates `bytes`. Throws unsupported where there is no O_DIRECT or not the space, failed otherwise.
  PublishedFile(const CheckpointPlace& place, std::size_t bytes, Naming naming);
  ~PublishedFile();
  PublishedFile(const PublishedFile&) = delete;
  PublishedFile& operator=(const PublishedFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::size_t size_bytes() const { return size_bytes_; }
  bool had_name_early() const { return early_; }

  void publish();   // fsync, the name by rename(), fsync of the directory
  void withdraw();  // the name goes; the content stays as long as this object

  // As the device has it: what other programs brought into the page cache goes first.
  void flip_bit(std::size_t offset) const;

 private:
  void open_without_name();
  void open_with_name();
  void preallocate();
  void remove_names() noexcept;

  CheckpointPlace place_;
  std::size_t size_bytes_ = 0;
  int descriptor_ = -1;
  bool early_ = false;
  std::string working_name_;  // until it is whole; empty: none on the disk now
  std::string final_name_;
};

// Removes what processes that are gone left in `directory` where files cannot be without a name. A file of a living one
// is locked and stays.
void remove_abandoned_files(const std::string& directory);

// Throws unsupported, with what to do, where no file past the page cache can be made there.
void require_direct_access(const CheckpointPlace& place);

}  // namespace claimcheck::bench
