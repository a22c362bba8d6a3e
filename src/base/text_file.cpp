#include "base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files.h"

namespace partita {
namespace {

/// Returns why a file cannot be read as a text: it has another kind. Else "".
std::string_view other_kind(mode_t mode, bool may_be_pipe) {
  if (S_ISDIR(mode)) return "it is a folder, expected a file";
  if (S_ISSOCK(mode)) return "it is a socket, expected a file";
  if (S_ISREG(mode) || may_be_pipe) return "";
  return S_ISFIFO(mode) ? "it is a pipe, expected a file" : "it is a device, expected a file";
}

/// Reads at most `size` bytes at the position of the file. Returns their number, or -1 with errno.
ssize_t read_some(const File& file, char* to, size_t size) {
  while (true) {
    const ssize_t count = ::read(file.fd(), to, size);
    if (count >= 0 || errno != EINTR) return count;
  }
}

}  // namespace

std::string read_text_file(const std::string& path, const TextFile& kind) {
  constexpr size_t kBlock = size_t{1} << 16;
  const auto refuse = [&](std::string_view reason) {
    throw MissingFile("[{}] cannot read {}: {}", kind.where, path, reason);
  };
  struct stat status {};
  const File file(path, O_RDONLY | O_NOCTTY | O_CLOEXEC | (kind.may_be_pipe ? 0 : O_NONBLOCK));
  const int error = errno;
  if (file.is_open() ? ::fstat(file.fd(), &status) == 0 : ::stat(path.c_str(), &status) == 0) {
    if (const std::string_view reason = other_kind(status.st_mode, kind.may_be_pipe); !reason.empty()) refuse(reason);
  }
  if (!file.is_open()) refuse(std::strerror(error));
  // Files of the system state no size, so the end is where nothing more is read.
  std::string text;
  text.reserve(static_cast<size_t>(std::clamp<int64_t>(status.st_size, 0, kind.max_bytes)) + kBlock);
  int64_t bytes = status.st_size;
  while (bytes <= kind.max_bytes) {
    const size_t size = text.size();
    text.resize(std::max(text.capacity(), size + kBlock));
    const ssize_t count = read_some(file, text.data() + size, text.size() - size);
    if (count < 0) refuse(std::strerror(errno));
    text.resize(size + static_cast<size_t>(count));
    if (count == 0) return text;
    bytes = static_cast<int64_t>(text.size());
  }
  throw InvalidFile("[{}] {}: too large, got more than {} bytes, expected {}", kind.where, path, kind.max_bytes,
                    kind.purpose);
}

}  // namespace partita
