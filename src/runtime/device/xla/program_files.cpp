#include "runtime/device/xla/program_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"

namespace partita {
namespace {

// A file is a header, the key and the program. The header: a line of text, then the bytes of the key, those of the
// program, the checksum of both, and the checksum of the header before it, with kChecksumDigits digits each.
constexpr std::string_view kBegin = "partita program 1\n";
constexpr size_t kField = kChecksumDigits + 1;  // with the space or the line's end after it
constexpr size_t kHeader = kBegin.size() + 4 * kField;
constexpr std::string_view kProgram = ".program", kLock = ".lock", kTemporary = ".tmp-";

std::string name_of(std::string_view key) { return checksum_of_text(key); }

std::string header_of(std::string_view key, std::string_view program) {
  Checksum content;
  content.add(key.data(), key.size());
  content.add(program.data(), program.size());
  std::string header(kBegin);
  for (const uint64_t field : {uint64_t{key.size()}, uint64_t{program.size()}, content.take()}) {
    header += print_checksum(field) + " ";
  }
  return header + print_checksum(checksum_of(header.data(), header.size())) + "\n";
}

/// Returns the number in a field of a header; none if it is not as print_checksum writes it.
std::optional<uint64_t> field_of(std::string_view header, size_t index) {
  return parse_checksum(header.substr(kBegin.size() + index * kField, kChecksumDigits));
}

/// Whether others may have written a file or into a folder.
bool is_of_others(const struct stat& status) {
  return status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

std::string print_owner(const struct stat& status) {
  return fmt::format("mode {:04o} of user {}, expected one that only user {} may write", status.st_mode & 07777u,
                     status.st_uid, ::geteuid());
}

[[noreturn]] void refuse_folder(const std::string& path, const std::string& why) {
  throw RuntimeFailure(ExitCode::cannot_write, "[cache] {}: {}", path, why);
}

/// Makes a folder and those above it, as no other user may write there.
void make_folders(const std::filesystem::path& path) {
  if (path.empty() || ::mkdir(path.c_str(), 0700) == 0 || errno != ENOENT || !path.has_parent_path()) return;
  make_folders(path.parent_path());
  ::mkdir(path.c_str(), 0700);
}

File open_folder(const std::string& path) {
  make_folders(path);
  File folder(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status {};
  if (!folder.is_open() || ::fstat(folder.fd(), &status) != 0) {
    refuse_folder(path, fmt::format("cannot make or open the folder of compiled programs: {}", std::strerror(errno)));
  }
  if (is_of_others(status)) {
    refuse_folder(path, fmt::format("a folder for compiled programs that is not safe, got {}", print_owner(status)));
  }
  return folder;
}

/// Returns what is wrong with a file, as far as its header says; "" for a sound one of `key`.
std::string damage_of_header(std::string_view header, std::string_view key, uint64_t file_bytes) {
  if (!header.starts_with(kBegin)) return "no program of Partita";
  const std::string_view checked = header.substr(0, kHeader - kField);
  if (field_of(header, 3) != checksum_of(checked.data(), checked.size())) return "a header with a wrong checksum";
  const uint64_t key_bytes = field_of(header, 0).value_or(0), program_bytes = field_of(header, 1).value_or(0);
  if (key_bytes != key.size()) return "a program of another key";
  if (program_bytes != file_bytes - kHeader - key_bytes) {
    return fmt::format("{} bytes, expected {}", file_bytes, kHeader + key_bytes + program_bytes);
  }
  return "";
}

/// Reads the file of a program, whose size the system says, so that none of its numbers decides how much memory is
/// taken.
ProgramFiles::Found read_entry(int file, const struct stat& status, std::string_view key, int64_t max_bytes) {
  const auto damaged = [](std::string damage) { return ProgramFiles::Found{{}, std::move(damage)}; };
  if (S_ISDIR(status.st_mode)) return {};  // an obstacle
  if (!S_ISREG(status.st_mode)) return damaged("no file");
  if (is_of_others(status)) return damaged(print_owner(status));
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes < kHeader + key.size() || status.st_size > max_bytes) return damaged(fmt::format("{} bytes", bytes));
  std::string header(kHeader, '\0'), own_key(key.size(), '\0');
  if (!read_all(file, header.data(), kHeader, 0)) return damaged("an end before its header's");
  if (std::string damage = damage_of_header(header, key, bytes); !damage.empty()) return damaged(std::move(damage));
  std::string program(bytes - kHeader - key.size(), '\0');
  if (!read_all(file, own_key.data(), key.size(), kHeader) ||
      !read_all(file, program.data(), program.size(), static_cast<int64_t>(kHeader + key.size()))) {
    return damaged("an end before the program's");
  }
  if (header_of(own_key, program) != header) return damaged("a wrong checksum");
  if (own_key != key) return damaged("a program of another key");
  return {std::move(program), ""};
}

/// Whether a name is one that this folder gives, so that nothing else is ever removed.
bool is_own_name(std::string_view name) {
  if (name.size() < kTextChecksumDigits) return false;
  const std::string_view digits = name.substr(0, kTextChecksumDigits), rest = name.substr(kTextChecksumDigits);
  return digits.find_first_not_of("0123456789abcdef") == digits.npos &&
         (rest == kProgram || rest == kLock || rest.starts_with(kTemporary));
}

struct OwnFile {
  std::string name;
  int64_t used, bytes;  // time in ns
};

/// Returns the files of a folder that it made, those that were not used for longest first.
std::vector<OwnFile> own_files(int folder) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listed = again < 0 ? nullptr : ::fdopendir(again);
  if (listed == nullptr) {
    ::close(again);
    return {};
  }
  std::vector<OwnFile> files;
  while (const dirent* const entry = ::readdir(listed)) {
    struct stat status {};
    if (!is_own_name(entry->d_name) || ::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const int64_t used = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    files.push_back({entry->d_name, used, status.st_size});
  }
  ::closedir(listed);
  std::ranges::sort(files, [](const OwnFile& a, const OwnFile& b) { return a.used < b.used; });
  return files;
}

}  // namespace

ProgramFiles::ProgramFiles(const std::string& folder, int64_t max_bytes)
    : path_(folder), max_bytes_(max_bytes), folder_(open_folder(folder)) {}

ProgramFiles::Found ProgramFiles::read(std::string_view key) const {
  const std::string name = name_of(key) + std::string(kProgram);
  const File file(::openat(folder_.fd(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return {};
  struct stat status {};
  Found found{{}, std::strerror(errno)};
  if (file.is_open() && ::fstat(file.fd(), &status) == 0) found = read_entry(file.fd(), status, key, max_bytes_);
  if (found.program) ::futimens(file.fd(), nullptr);
  if (!found.damage.empty()) found.damage = fmt::format("{} in {}/{}", found.damage, path_, name);
  return found;
}

void ProgramFiles::write(std::string_view key, std::string_view program) const {
  const std::string header = header_of(key, program), name = name_of(key);
  if (static_cast<int64_t>(header.size() + key.size() + program.size()) > max_bytes_) return;
  std::random_device random;
  const std::string temporary = fmt::format("{}{}{:08x}{:08x}", name, kTemporary, random(), random());
  File file(::openat(folder_.fd(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  bool is_written = file.is_open();
  for (const std::string_view part : {std::string_view(header), key, program}) {
    is_written = is_written && write_all(file.fd(), part.data(), part.size());
  }
  // Nothing is forced to the disk: after a loss of power the checksum tells.
  const std::string target = name + std::string(kProgram);
  is_written =
      is_written && file.close() && ::renameat(folder_.fd(), temporary.c_str(), folder_.fd(), target.c_str()) == 0;
  if (!is_written) {
    const std::string reason = std::strerror(errno);
    ::unlinkat(folder_.fd(), temporary.c_str(), 0);
    throw_cannot_write("cache", path_, reason);
  }
  trim();
}

void ProgramFiles::remove(std::string_view key) const {
  ::unlinkat(folder_.fd(), (name_of(key) + std::string(kProgram)).c_str(), 0);
}

std::string ProgramFiles::obstacle(std::string_view key) const {
  const std::string name = name_of(key) + std::string(kProgram);
  struct stat status {};
  if (::fstatat(folder_.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode)) return "";
  return ::unlinkat(folder_.fd(), name.c_str(), AT_REMOVEDIR) == 0 ? "" : path_ + "/" + name;
}

/// Removes files until the rest has at most the folder's bytes, and files of processes that were killed: nobody writes
/// one, or holds a lock, for a day.
void ProgramFiles::trim() const {
  constexpr std::chrono::nanoseconds kLeftover = std::chrono::hours(24);
  const std::vector<OwnFile> files = own_files(folder_.fd());
  const int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  int64_t total = 0;
  for (const OwnFile& file : files) total += file.bytes;
  for (const OwnFile& file : files) {
    const bool is_leftover = !file.name.ends_with(kProgram) && now - file.used > kLeftover.count();
    if (!is_leftover && (total <= max_bytes_ || file.bytes == 0)) continue;
    if (::unlinkat(folder_.fd(), file.name.c_str(), 0) == 0) total -= file.bytes;
  }
}

/// Tries to take a lock. Returns false if another one has it, or had it until now.
bool ProgramFiles::hold(Lock& lock) const {
  File file(::openat(lock.folder_, lock.name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file.is_open()) return true;
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  // Whoever had the lock may have removed its file before it was taken here.
  struct stat own {
  }, named{};
  if (::fstat(file.fd(), &own) != 0 || ::fstatat(lock.folder_, lock.name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      own.st_ino != named.st_ino || own.st_dev != named.st_dev) {
    return false;
  }
  lock.file_ = std::move(file);
  return true;
}

ProgramFiles::Lock ProgramFiles::lock(std::string_view key, std::chrono::milliseconds patience) const {
  constexpr std::chrono::milliseconds kPause(10);
  Lock lock(folder_.fd(), name_of(key) + std::string(kLock));
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!hold(lock) && std::chrono::steady_clock::now() < end) {
    lock.has_waited_ = true;
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

ProgramFiles::Lock::~Lock() {
  if (!file_.is_open()) return;
  ::unlinkat(folder_, name_.c_str(), 0);
  ::flock(file_.fd(), LOCK_UN);  // a forked process may have the file, too
}

}  // namespace partita
