#include "base/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace partita {

int open_log_file(std::string_view where, const std::string& path, bool appends) {
  const auto refuse = [&](const std::string& why) {
    throw RuntimeFailure(ExitCode::cannot_write, "[{}] cannot write {}: {}", where, path, why);
  };
  // No O_TRUNC: the file is emptied only after it is known to be a regular file.
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (appends ? O_APPEND : 0);
  const int file = ::open(path.c_str(), flags, 0644);
  if (file < 0) refuse(errno == ELOOP ? "got a symbolic link, expected a regular file" : std::strerror(errno));
  struct stat status {};
  const bool is_regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const bool is_emptied = is_regular && (appends || ::ftruncate(file, 0) == 0);
  const int error = errno;
  if (is_emptied) {
    ::fcntl(file, F_SETFL, appends ? O_APPEND : 0);
    return file;
  }
  ::close(file);
  refuse(is_regular ? std::strerror(error) : "not a regular file");
  return -1;
}

}  // namespace partita
