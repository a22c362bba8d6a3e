#pragma once
// Bytes that go to the disk past the system's file cache.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace partita {

/// Writes the bytes of a file one behind the other in aligned blocks, past the file cache where the file system allows
/// it: the caller waits for the disk, and no processor copies into memory that the cache first has to be given. Where
/// it does not, they are written as others are.
class DirectOutput {
 public:
  static constexpr size_t kAlignment = 4096;

  /// To a file that is open for writing and outlives the object, from `offset` on, a multiple of kAlignment.
  DirectOutput(int fd, int64_t offset);

  /// False, with errno, when something cannot be written.
  bool write(const void* bytes, size_t count);
  /// Behind the last bytes: writes what is left, and makes the file an ordinary one again.
  bool finish();

 private:
  bool write_block(size_t count);
  /// Whether the file goes past the cache from now on; false where it cannot.
  bool set_direct(bool direct);

  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kAlignment}); }
  };

  int fd_;
  int64_t offset_;
  bool is_direct_;
  std::unique_ptr<std::byte[], Free> block_;
  size_t used_ = 0;
};

}  // namespace partita
