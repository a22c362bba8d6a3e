#pragma once
// Files and folders as checkpoints write them: all of a buffer or an error, and on the disk before they are named.

#include <cstdint>
#include <string>
#include <utility>

namespace partita {

/// An open file, closed with the object.
class File {
 public:
  File() = default;
  File(const std::string& path, int flags, unsigned mode = 0);
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~File() { close(); }
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  /// False when the system reports that something was not written.
  bool close();

 private:
  int fd_ = -1;
};

/// Not open, with errno, when it is there already or cannot be made.
File new_file(const std::string& path);

/// False, with errno, when it cannot be written.
bool write_all(int fd, const void* data, size_t bytes);
bool write_all_at(int fd, const void* data, size_t bytes, int64_t offset);
constexpr size_t kDiskBlock = 4096;
/// The same past the system's file cache, where the file system allows it: the caller waits for the disk, and no
/// processor copies into memory that the cache first has to be given. `data` and `offset` are multiples of kDiskBlock.
bool write_past_cache(int fd, const void* data, size_t bytes, int64_t offset);
/// False at the end of the file or on an error.
bool read_all(int fd, void* data, size_t bytes, int64_t offset);
/// The names in it are on the disk; false, with errno, when they cannot be.
bool sync_folder(const std::string& path);
/// The folder of a path: "." for a name alone.
std::string folder_of(const std::string& path);
/// Throws RuntimeFailure(cannot_write): "[where] cannot write PATH: REASON".
[[noreturn]] void throw_cannot_write(const char* where, const std::string& path, const std::string& reason);

}  // namespace partita
