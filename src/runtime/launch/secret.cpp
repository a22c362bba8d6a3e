#include "runtime/launch/secret.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace partita {
namespace {

constexpr size_t kMaxSecret = 4096;

std::string read_secret(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) throw MissingFile("[secret] cannot open {}: {}", path, std::strerror(errno));
  struct stat status {};
  ::fstat(file, &status);
  std::array<char, kMaxSecret> text{};
  const ssize_t bytes = ::read(file, text.data(), text.size());
  ::close(file);
  if (!S_ISREG(status.st_mode) || (status.st_mode & 077u) != 0 || status.st_uid != ::geteuid()) {
    throw InvalidArgument(
        "[secret] {} must be a file that only this user can read, got mode {:04o} of user {}, expected 0600 of {}",
        path, status.st_mode & 07777u, status.st_uid, ::geteuid());
  }
  std::string secret(text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return secret.substr(0, secret.find('\n'));
}

/// Creates the file of a secret. Processes may do so at the same time: the first file that gets the name wins. Throws
/// RuntimeFailure(cannot_write) if it cannot be created, RuntimeFailure(internal) if the system has no random bytes.
void make_secret(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
  const std::string own = fmt::format("{}.{}-{}", path, ::getpid(), new_secret().substr(0, 8));
  const int file = ::open(own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const std::string text = new_secret() + "\n";
  bool written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (file >= 0) ::close(file);
  if (written && ::link(own.c_str(), path.c_str()) != 0 && errno != EEXIST) written = false;
  ::unlink(own.c_str());
  if (written) return;
  throw RuntimeFailure(ExitCode::cannot_write,
                       "[secret] cannot write {}: {}, expected a writable folder, or PARTITA_SECRET or "
                       "PARTITA_SECRET_FILE in the environment",
                       path, std::strerror(error));
}

}  // namespace

std::string new_secret() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw RuntimeFailure(ExitCode::internal, "[secret] no random bytes from the system");
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string job_secret(const std::function<const char*(const char*)>& variable) {
  if (const char* secret = variable("PARTITA_SECRET")) return secret;
  if (const char* path = variable("PARTITA_SECRET_FILE")) return read_secret(path);
  const char* home = variable("HOME");
  const std::string path = std::string(home == nullptr ? "." : home) + "/.config/partita/secret";
  std::error_code failure;  // a path that cannot be looked at is refused when it is read
  if (!std::filesystem::exists(path, failure) && !failure) make_secret(path);
  return read_secret(path);
}

}  // namespace partita
