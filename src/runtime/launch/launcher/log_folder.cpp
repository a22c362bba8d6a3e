#include "runtime/launch/launcher/log_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/folder_entries.h"
#include "base/log_file.h"
#include "runtime/launch/launcher/current_folder.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

bool has_something(const fs::path& file) {
  std::error_code missing;
  const auto bytes = fs::file_size(file, missing);
  return !missing && bytes > 0;
}

}  // namespace

LogFolder::LogFolder(const std::string& given, const OwnerLock::Warn& warn) {
  if (!given.empty()) {
    path_ = current_folder() / given;
    std::error_code failure;  // agents report what they cannot create
    fs::create_directories(path_, failure);
    OwnedPath owned = owned_folder("--log-dir", given, "launch");
    owned.waits_when_restarted = false;  // the launcher handles signals in its own way, not during a wait
    lock_.emplace(std::move(owned), /*waits=*/false, warn);
    return;
  }
  std::error_code failure;
  const fs::path parent = fs::temp_directory_path(failure);
  if (failure) {
    const char* given_parent = std::getenv("TMPDIR");
    throw RuntimeFailure(ExitCode::cannot_write,
                         "[launch] no folder for temporary files, got TMPDIR={}, expected a folder: {}",
                         given_parent == nullptr ? "" : given_parent, failure.message());
  }
  std::string name = (parent / "partita-launch-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw RuntimeFailure(ExitCode::cannot_write, "[launch] cannot make {}: {}", name, std::strerror(errno));
  }
  path_ = name;
  is_temporary_ = true;
}

LogFolder::~LogFolder() {
  std::error_code failure;
  if (is_temporary_ && !(is_kept_ && has_logs())) fs::remove_all(path_, failure);
}

bool LogFolder::has_logs() const {
  for (const fs::path& rank : entries_of(path_)) {
    for (const char* name : {"stdout", "stderr", "flight_record"}) {
      if (has_something(rank / name)) return true;
    }
  }
  return false;
}

RankLogs::RankLogs(const std::string& log_dir, int rank, bool appends)
    : folder(fmt::format("{}/rank_{}", log_dir, rank)) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    throw RuntimeFailure(ExitCode::cannot_write, "[launch] cannot make {}: {}", folder,
                         failure ? failure.message() : "got a link or a file, expected a folder");
  }
  output = Socket(open_log_file("launch", folder + "/stdout", appends));
  errors = Socket(open_log_file("launch", folder + "/stderr", appends));
}

void RankLogs::write_process(pid_t process) const {
  const Socket file(open_log_file("launch", folder + "/pid", /*appends=*/false));
  const std::string text = fmt::format("{}\n", process);
  if (::write(file.file(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
  throw RuntimeFailure(ExitCode::cannot_write, "[launch] cannot write {}/pid: {}", folder, std::strerror(errno));
}

}  // namespace partita
