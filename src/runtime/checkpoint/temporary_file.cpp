#include "runtime/checkpoint/temporary_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace partita {
namespace {

constexpr int kMaxLinks = 40;  // the limit of Linux

[[noreturn]] void cannot_write(const std::string& path, const std::string& reason) {
  throw_cannot_write("save", path, reason);
}

/// Returns the permissions of the file `target`, or those that a new file gets if there is none. Throws
/// RuntimeFailure(cannot_write), naming `path`, if there is something other than a regular file, or that cannot be
/// found out.
mode_t mode_of(const std::string& path, const std::string& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) cannot_write(path, "it is a folder");
    if (!S_ISREG(status.st_mode)) cannot_write(path, "it is not a regular file");
    return status.st_mode & 0777;
  }
  if (errno != ENOENT) cannot_write(path, std::strerror(errno));
  const mode_t mask = ::umask(0);  // can only be read by setting it
  ::umask(mask);
  return 0666 & ~mask;
}

constexpr std::string_view kTemporary = ".tmp-";  // follows the name of the target
constexpr std::string_view kUnique = "-XXXXXX";   // follows the process number

/// The process that wrote a temporary file of `target`, from the file's name; none for other files.
std::optional<pid_t> writer_of(std::string_view name, const std::string& target) {
  if (!name.starts_with(target) || !name.substr(target.size()).starts_with(kTemporary)) return std::nullopt;
  name.remove_prefix(target.size() + kTemporary.size());
  pid_t writer = 0;
  const auto [rest, failure] = std::from_chars(name.data(), name.data() + name.size(), writer);
  const std::string_view unique(rest, static_cast<size_t>(name.data() + name.size() - rest));
  if (failure != std::errc() || writer < 1 || unique.size() != kUnique.size() || unique[0] != '-') return std::nullopt;
  return writer;
}

bool is_running(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

/// Removes the temporary files of `target` that killed processes left: no other process on this host has the number in
/// the name, and none holds the lock that a process holds on the file it writes, which other hosts and containers see
/// even if they cannot see the process. Ignores errors.
void remove_leftovers(const std::string& target) {
  const std::string own = std::filesystem::path(target).filename().string();
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder_of(target), failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::optional<pid_t> writer = writer_of(entry->path().filename().string(), own);
    if (!writer || (*writer != ::getpid() && is_running(*writer))) continue;
    const File file(entry->path().string(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file.is_open() && ::flock(file.fd(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
  }
}

/// Removes the temporary files of `target` that killed processes left. Then creates a new file, whose name replaces the
/// last letters of `name`, and locks it. Returns its descriptor, or -1 with errno.
int create(const std::string& target, std::string& name) {
  remove_leftovers(target);
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::flock(fd, LOCK_EX | LOCK_NB);  // leftovers stay on file systems without locks
  return fd;
}

}  // namespace

std::string follow_links(const std::string& path) {
  std::filesystem::path target = path;
  std::error_code failure;
  for (int links = 0; std::filesystem::is_symlink(target, failure); ++links) {
    if (links == kMaxLinks) cannot_write(path, std::strerror(ELOOP));
    const std::filesystem::path next = std::filesystem::read_symlink(target, failure);
    if (failure) cannot_write(path, failure.message());
    target = target.parent_path() / next;
  }
  return target.string();
}

TemporaryFile::TemporaryFile(const std::string& path)
    : path_(path),
      target_(follow_links(path)),
      mode_(mode_of(path_, target_)),
      name_(fmt::format("{}{}{}{}", target_, kTemporary, ::getpid(), kUnique)),
      file_(create(target_, name_)) {
  if (!file_.is_open()) fail();
}

TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) ::unlink(name_.c_str());
}

void TemporaryFile::write(const void* data, size_t bytes) {
  if (!write_all(file_.fd(), data, bytes)) fail();
}

void TemporaryFile::rewrite(const void* data, size_t bytes, int64_t offset) {
  if (!write_all_at(file_.fd(), data, bytes, offset)) fail();
}

void TemporaryFile::finish() {
  // Fails on file systems without permissions, which is no reason to lose the weights.
  ::fchmod(file_.fd(), mode_);
  if (::fsync(file_.fd()) != 0 || !file_.close()) fail();
}

void TemporaryFile::replace() {
  if (::rename(name_.c_str(), target_.c_str()) != 0) fail();
  name_.clear();
  if (!sync_folder(folder_of(target_))) fail();
}

void TemporaryFile::fail() {
  const std::string reason = std::strerror(errno);
  if (!name_.empty() && file_.is_open()) ::unlink(std::exchange(name_, "").c_str());
  cannot_write(path_, reason);
}

}  // namespace partita
