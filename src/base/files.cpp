#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"

namespace partita {
namespace {

constinit std::atomic<int> files_in_turn = 0;  // number of open files of FileInTurn

/// Calls `some(done, bytes that are left)`, which transfers bytes as write(2) does, until all are transferred. Returns
/// whether they are.
template <class Some>
bool transfer_all(size_t bytes, const Some& some) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t now = some(done, bytes - done);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    done += static_cast<size_t>(now);
  }
  return true;
}

}  // namespace

File::File(const std::string& path, int flags, unsigned mode)
    : fd_(::open(path.c_str(), flags, static_cast<mode_t>(mode))) {}

bool File::close() {
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || ::close(fd) == 0;
}

File new_file(const std::string& path) {
  return File(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

FileInTurn::FileInTurn(const std::string& path) : file_(new_file(path)) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{5}, kPatience{30'000}, kPatienceAlone{1'000};
  const Clock::time_point begin = Clock::now();
  Clock::time_point seen = begin;  // when another file was last open
  while (!file_.is_open() && (errno == EMFILE || errno == ENFILE)) {
    const Clock::time_point now = Clock::now();
    if (files_in_turn > 0) seen = now;
    if (now - begin >= kPatience || now - seen >= kPatienceAlone) return;
    std::this_thread::sleep_for(kPause);
    file_ = new_file(path);
  }
  if (file_.is_open()) ++files_in_turn;
}

bool FileInTurn::close() {
  if (file_.is_open()) --files_in_turn;
  return file_.close();
}

bool write_all(int fd, const void* data, size_t bytes) {
  return transfer_all(
      bytes, [&](size_t done, size_t left) { return ::write(fd, static_cast<const char*>(data) + done, left); });
}

bool write_all_at(int fd, const void* data, size_t bytes, int64_t offset) {
  return transfer_all(bytes, [&](size_t done, size_t left) {
    return ::pwrite(fd, static_cast<const char*>(data) + done, left, offset + static_cast<int64_t>(done));
  });
}

bool write_past_cache(int fd, const void* data, size_t bytes, int64_t offset) {
  // A killed process waits for the write in progress, so each write is limited.
  constexpr size_t kMaxBytes = size_t{16} << 20;
  const auto* next = static_cast<const char*>(data);
  const int flags = ::fcntl(fd, F_GETFL);
  if (::fcntl(fd, F_SETFL, flags | O_DIRECT) == 0) {
    size_t whole = bytes / kDiskBlock * kDiskBlock;
    while (whole > 0) {
      const size_t some = std::min(whole, kMaxBytes);
      // On any error the rest is written through the cache; a full disk reports its error there again.
      if (!write_all_at(fd, next, some, offset)) break;
      next += some;
      offset += static_cast<int64_t>(some);
      bytes -= some;
      whole -= some;
    }
  }
  return ::fcntl(fd, F_SETFL, flags) == 0 && write_all_at(fd, next, bytes, offset);
}

bool read_all(int fd, void* data, size_t bytes, int64_t offset) {
  return transfer_all(bytes, [&](size_t done, size_t left) {
    return ::pread(fd, static_cast<char*>(data) + done, left, offset + static_cast<int64_t>(done));
  });
}

bool sync_folder(const std::string& path) {
  const File folder(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return folder.is_open() && ::fsync(folder.fd()) == 0;
}

std::string folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void throw_cannot_write(const char* where, const std::string& path, const std::string& reason) {
  throw RuntimeFailure(ExitCode::cannot_write, "[{}] cannot write {}: {}", where, path, reason);
}

}  // namespace partita
