#include "frontend/data/readers/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"

namespace partita {

RandomAccessFile::RandomAccessFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path_, code);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw InvalidFile("[data] not a regular file, got '{}', expected a file of data", path_.string());
  }
  file_ = std::make_shared<const File>(path_.string(), O_RDONLY | O_CLOEXEC);
  struct stat facts = {};
  if (!file_->is_open() || ::fstat(file_->fd(), &facts) != 0) {
    throw MissingFile("[data] cannot open a file, got '{}', expected a readable file", path_.string());
  }
  size_ = facts.st_size;
}

void RandomAccessFile::expect_random_reads() const { ::posix_fadvise(file_->fd(), 0, 0, POSIX_FADV_RANDOM); }

void RandomAccessFile::read(int64_t offset, void* to, int64_t bytes) const {
  if (read_all(file_->fd(), to, static_cast<size_t>(bytes), offset)) return;
  struct stat facts = {};
  const int64_t size = ::fstat(file_->fd(), &facts) == 0 ? facts.st_size : 0;
  if (size < offset + bytes) {
    throw InvalidFile("[data] cut file '{}', got {} bytes, expected {} or more", path_.string(), size, offset + bytes);
  }
  throw InvalidFile("[data] cannot read '{}', got an error at byte {}, expected data", path_.string(), offset);
}

}  // namespace partita
