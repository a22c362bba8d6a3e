#pragma once
// Bytes that go to the disk past the system's file cache.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace partita {

/// Writes what lies in memory as the bytes of a file, past the file cache where the file system allows it: the caller
/// waits for the disk, and no processor copies into memory that the cache first has to be given. Where it does not,
/// they are written as others are.
class DirectOutput {
 public:
  static constexpr size_t kAlignment = 4096;

  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kAlignment}); }
  };
  using Memory = std::unique_ptr<std::byte[], Free>;
  /// Aligned for the constructor, all zeros.
  static Memory allocate(size_t bytes);

  /// `memory`, aligned to kAlignment, is written to a file that is open for writing, from `offset` on, a multiple of
  /// kAlignment. Both outlive the object.
  DirectOutput(int fd, int64_t offset, const std::byte* memory);

  /// What lies in front of `end` will not change: some of it may be written. False, with errno, when it cannot be.
  bool write_until(size_t end);
  /// Writes what is left in front of `end`, the last byte's, and makes the file an ordinary one again.
  bool finish(size_t end);

 private:
  bool write_blocks(size_t end);
  /// Whether the file goes past the cache from now on; false where it cannot.
  bool set_direct(bool direct);

  int fd_;
  int64_t offset_;
  const std::byte* memory_;
  bool is_direct_;
  size_t written_ = 0;
};

}  // namespace partita
