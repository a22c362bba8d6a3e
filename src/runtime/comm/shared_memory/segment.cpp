#include "runtime/comm/shared_memory/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/folder_entries.h"

namespace partita {
namespace {

/// Maps the pages of a file and closes it. Returns MAP_FAILED on an error.
void* map_pages(int file, size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return pages;
}

}  // namespace

std::optional<SharedSegment> SharedSegment::create(size_t bytes) {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return std::nullopt;
  std::string name = fmt::format("/partita-{}-{:016x}", ::getpid(), number);
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return std::nullopt;
  // Reserves the pages: a write to overcommitted ones could kill the process.
  if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) {
    close(file);
    shm_unlink(name.c_str());
    return std::nullopt;
  }
  void* pages = map_pages(file, bytes);
  if (pages == MAP_FAILED) {
    shm_unlink(name.c_str());
    return std::nullopt;
  }
  return SharedSegment(pages, bytes, std::move(name));
}

void unlink_segments_of(int process) {
  const std::string beginning = fmt::format("partita-{}-", process);
  std::error_code failure;
  for (const std::filesystem::path& path : entries_of("/dev/shm")) {
    if (path.filename().string().starts_with(beginning)) std::filesystem::remove(path, failure);
  }
}

std::optional<SharedSegment> SharedSegment::open(const std::string& name, size_t bytes) {
  const int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return std::nullopt;
  void* pages = map_pages(file, bytes);
  if (pages == MAP_FAILED) return std::nullopt;
  return SharedSegment(pages, bytes, name);
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), name_(std::move(other.name_)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(name_, other.name_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void SharedSegment::unlink() const { ::shm_unlink(name_.c_str()); }

}  // namespace partita
