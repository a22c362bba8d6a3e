#pragma once
// Folders for the output of the ranks of a job.

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/comm/sockets/socket.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// The folder of a job's logs: a given one, or a temporary one. The latter is removed at the end unless it is to be
/// kept and has logs. A given folder is locked for one job at a time.
class LogFolder {
 public:
  /// Creates the folder and locks it for one job; "" means a temporary one, without a lock. `warn` is called if the
  /// file system has no locks. A given folder that cannot be created is reported by those who write there. Throws
  /// RuntimeFailure(cannot_write) if a temporary folder cannot be created or another job has the given one; MissingFile
  /// if the current folder, which a given path is relative to, cannot be found; and what `warn` throws.
  LogFolder(const std::string& given, const OwnerLock::Warn& warn);
  ~LogFolder();
  LogFolder& operator=(LogFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void keep(bool is_kept) { is_kept_ = is_kept; }
  /// Whether a rank on this host has printed something or has a flight record.
  bool has_logs() const;

 private:
  std::filesystem::path path_;
  std::optional<OwnerLock> lock_;  // lock of the given folder
  bool is_temporary_ = false, is_kept_ = false;
};

/// The folder and the files of one rank.
struct RankLogs {
  std::string folder;  // contains stdout, stderr, pid and the flight record
  Socket output, errors;

  /// Creates the folder LOG_DIR/rank_R and opens the files. `appends` keeps the output of an earlier attempt. Throws
  /// RuntimeFailure(cannot_write) if that fails, and for symbolic links.
  RankLogs(const std::string& log_dir, int rank, bool appends);
  /// Writes the process number to the file pid. Throws RuntimeFailure(cannot_write) if that fails.
  void write_process(pid_t process) const;
};

}  // namespace partita
