#include "runtime/launch/owner_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/plain_text.h"
#include "runtime/comm/processes/host.h"
#include "runtime/comm/sockets/timeouts.h"
#include "runtime/launch/signals.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPause{20};
constexpr int kMaxReadings = 10;       // attempts to read the name of a holder that is just writing it
constexpr int kMaxReplacements = 100;  // replacements of the lock file by other jobs while this one opens it

bool is_above_zero(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && parse_number<int64_t>(text).value_or(0) > 0;
}

/// Target of a path's links, which need not exist.
fs::path resolve_links(fs::path path) {
  constexpr int kMaxLinks = 40;
  std::error_code failure;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(path, failure); ++i) {
    path = path.parent_path() / fs::read_symlink(path, failure);
  }
  return path;
}

std::string text_of(int file) {
  std::array<char, 320> text{};
  const ssize_t bytes = ::pread(file, text.data(), text.size() - 1, 0);
  return bytes <= 0 ? "" : std::string(text.data(), static_cast<size_t>(bytes));
}

}  // namespace

OwnedPath owned_file(const std::string& where, const std::string& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  OwnedPath owned{.where = where, .path = path, .lock = ""};
  if (fs::exists(status) && !fs::is_regular_file(status)) return owned;
  const fs::path target = fs::weakly_canonical(resolve_links(path), failure);
  if (failure || target.filename().empty()) return owned;
  owned.lock = (target.parent_path() / fmt::format(".{}.owner", target.filename().string())).string();
  return owned;
}

OwnedPath owned_folder(const std::string& where, const std::string& path, const std::string& use) {
  return {.where = where, .path = path, .lock = fmt::format("{}/.{}.owner", path, use)};
}

OwnedPath owned_checkpoints(const std::string& folder) {
  OwnedPath owned = owned_folder("checkpoint", folder, "checkpoints");
  owned.makes_folder = true;
  return owned;
}

bool is_restarted() {
  // PARTITA_RUN counts the attempts of partita launch. In scripts it may be any word.
  return is_above_zero("PARTITA_RUN") || is_above_zero("SLURM_RESTART_COUNT") ||
         is_above_zero("TORCHELASTIC_RESTART_COUNT");
}

OwnerLock::OwnerLock(OwnedPath owned, bool waits, const Warn& warn) : owned_(std::move(owned)) {
  if (owned_.lock.empty()) return;
  const bool is_patient = waits || (owned_.waits_when_restarted && is_restarted());
  const auto end = std::chrono::steady_clock::now() + (is_patient ? stall_timeout() : Timeout(0));
  bool is_told = false;
  while (true) {
    const Attempt attempt = this->attempt();
    if (attempt == Attempt::done || attempt == Attempt::no_folder) return;
    if (attempt == Attempt::impossible) {
      const std::string reason = std::strerror(errno);
      if (warn) {
        warn(fmt::format("[{}] cannot lock {}: {}; another job that writes there would go unnoticed", owned_.where,
                         owned_.path, reason));
      }
      return;
    }
    if (std::chrono::steady_clock::now() >= end) refuse();
    if (const int signal = SignalGuard::requests().stop; signal != 0) {
      throw RuntimeFailure(static_cast<ExitCode>(kSignalExit + signal),
                           "[{}] interrupted, got signal {} ({}), expected {} to end, which holds {}", owned_.where,
                           signal, ::strsignal(signal), print_holder(), owned_.path);
    }
    if (!std::exchange(is_told, true) && warn) {
      warn(fmt::format("[{}] waits for {} until {} has ended", owned_.where, owned_.path, print_holder()));
    }
    std::this_thread::sleep_for(kPause);
  }
}

OwnerLock::~OwnerLock() { release(); }

OwnerLock::Attempt OwnerLock::attempt() {
  // The previous holder removes the lock file, and maybe the folder, when it releases the lock.
  for (int i = 0; i < kMaxReplacements; ++i) {
    if (owned_.makes_folder) {
      const bool is_made = ::mkdir(owned_.path.c_str(), 0777) == 0;
      if (!is_made && errno != EEXIST) return Attempt::no_folder;
      made_folder_ = made_folder_ || is_made;
    }
    constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int file = ::open(owned_.lock.c_str(), O_RDWR | O_CREAT | kFlags, 0666);
    // The file may belong to another user.
    if (file < 0 && errno == EACCES) file = ::open(owned_.lock.c_str(), O_RDONLY | kFlags);
    if (file < 0 && errno == ENOENT && owned_.makes_folder) continue;
    if (file < 0) return errno == ENOENT || errno == ENOTDIR ? Attempt::no_folder : Attempt::impossible;
    const Attempt locked = lock(file);
    if (locked == Attempt::done && !is_in_place()) {
      ::close(std::exchange(file_, -1));
      continue;
    }
    if (locked != Attempt::done) {
      const int reason = errno;
      ::close(file);
      errno = reason;
    }
    return locked;
  }
  errno = ENOENT;
  return Attempt::impossible;
}

OwnerLock::Attempt OwnerLock::lock(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return Attempt::impossible;
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return Attempt::impossible;
  }
  int result = 0;
  do {
    result = ::flock(file, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return errno == EWOULDBLOCK ? Attempt::held_by_other : Attempt::impossible;
  file_ = file;
  holder_ = ::getpid();
  was_held_ = true;
  const std::string text = fmt::format("{} on {}\n", holder_, host_name());
  // On a full disk the lock holds without a name.
  [[maybe_unused]] const bool is_named =
      ::ftruncate(file, 0) == 0 && ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  return Attempt::done;
}

bool OwnerLock::is_in_place() const {
  struct stat own {
  }, there{};
  return ::fstat(file_, &own) == 0 && ::stat(owned_.lock.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
         own.st_ino == there.st_ino;
}

std::string OwnerLock::print_holder() const {
  for (int i = 0; i < kMaxReadings; ++i) {
    const int file = ::open(owned_.lock.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    std::string text = file < 0 ? "" : text_of(file);
    if (file >= 0) ::close(file);
    if (const size_t end = text.find('\n'); end != std::string::npos) return "process " + text.substr(0, end);
    std::this_thread::sleep_for(kPause);
  }
  return "another process";
}

void OwnerLock::refuse() const {
  throw RuntimeFailure(
      ExitCode::cannot_write,
      "[{}] another job writes to it, got {} held by {}, expected another path, or that job to have ended",
      owned_.where, owned_.path, print_holder());
}

void OwnerLock::renew() {
  if (!was_held_ || (file_ >= 0 && is_in_place())) return;
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  made_folder_ = false;
  if (attempt() == Attempt::held_by_other) refuse();
}

void OwnerLock::release() noexcept {
  if (file_ >= 0 && holder_ == ::getpid() && is_in_place()) ::unlink(owned_.lock.c_str());
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (made_folder_) ::rmdir(owned_.path.c_str());  // fails if the folder is not empty
}

}  // namespace partita
