#pragma once
// File operations: a buffer is written completely or an error is reported, and files can be on the disk before they get
// their names.

#include <cstdint>
#include <string>
#include <utility>

namespace partita {

/// An open file. The destructor closes it.
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
  /// Closes the file. Returns false if the system reports that something was not written; true if no file was open.
  bool close();

 private:
  int fd_ = -1;
};

/// Creates a file for writing. The result is not open, and errno is set, if the file exists or cannot be created.
File new_file(const std::string& path);
/// A file that `new_file` creates, one of several that threads of this process write at the same time. If there are too
/// many open files, the constructor waits up to 30 seconds for the other threads to close theirs, and up to one second
/// if none of them has one open. The result is not open, and errno is set, if the file cannot be created. The
/// destructor closes it.
class FileInTurn {
 public:
  explicit FileInTurn(const std::string& path);
  ~FileInTurn() { close(); }
  FileInTurn& operator=(FileInTurn&&) = delete;
  int fd() const { return file_.fd(); }
  bool is_open() const { return file_.is_open(); }
  /// Closes the file as File::close does.
  bool close();

 private:
  File file_;
};

/// Writes all bytes, at the file's position or at an offset in bytes. Returns false, with errno, if they cannot be
/// written.
bool write_all(int fd, const void* data, size_t bytes);
bool write_all_at(int fd, const void* data, size_t bytes, int64_t offset);
constexpr size_t kDiskBlock = 4096;
/// Writes all bytes at an offset, past the system's file cache where the file system allows it: the caller waits for
/// the disk, and nothing is copied to the cache. What follows the last whole block goes through the cache, and so does
/// the rest after an error. The address `data` and `offset` are multiples of kDiskBlock. Returns false, with errno, if
/// the bytes cannot be written.
bool write_past_cache(int fd, const void* data, size_t bytes, int64_t offset);
/// Reads exactly `bytes` bytes from an offset. Returns false if the file ends before or on an error.
bool read_all(int fd, void* data, size_t bytes, int64_t offset);
/// Forces the names in a folder to the disk. Returns false, with errno, on an error.
bool sync_folder(const std::string& path);
/// The folder of a path; "." for a plain name.
std::string folder_of(const std::string& path);
/// Reports a failed write: throws RuntimeFailure(cannot_write) with the message "[where] cannot write PATH: REASON".
[[noreturn]] void throw_cannot_write(const char* where, const std::string& path, const std::string& reason);

}  // namespace partita
