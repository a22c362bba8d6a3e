#include "runtime/comm/shared_memory/presence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace partita {
namespace {

/// Describes a write lock on the byte of `rank`. It is one of the open file, not of the process: threads can be ranks
/// too if each has opened the file.
struct flock lock_of(int rank) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

}  // namespace

std::optional<Presence> Presence::create() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return std::nullopt;
  std::string name = fmt::format("/partita-{}-ranks-{:016x}", ::getpid(), number);
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return std::nullopt;
  return Presence(file, std::move(name));
}

std::optional<Presence> Presence::open(const std::string& name) {
  const int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return std::nullopt;
  return Presence(file, name);
}

Presence::Presence(Presence&& other) noexcept
    : file_(std::exchange(other.file_, -1)), name_(std::move(other.name_)), own_(other.own_) {}

Presence& Presence::operator=(Presence&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(name_, other.name_);
  std::swap(own_, other.own_);
  return *this;
}

Presence::~Presence() {
  if (file_ >= 0) close(file_);
}

void Presence::unlink() const { ::shm_unlink(name_.c_str()); }

bool Presence::enter(int rank) {
  struct flock lock = lock_of(rank);
  if (fcntl(file_, F_OFD_SETLK, &lock) != 0) return false;
  own_ = rank;
  return true;
}

bool Presence::is_gone(int rank) const {
  struct flock lock = lock_of(rank);
  return rank != own_ && fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

}  // namespace partita
