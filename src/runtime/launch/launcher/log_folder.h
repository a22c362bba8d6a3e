#pragma once
// Where the ranks of a job leave what they print.

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/comm/sockets/socket.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// The folder of the logs of a job: the one that was given, or a temporary one, which is removed at the end unless it
/// is kept and has something to look at. One job at a time has the one that was given.
class LogFolder {
 public:
  /// "": a temporary folder. `warn` is called where the file system has no locks. Throws RuntimeFailure(cannot_write),
  /// also when another job has the folder.
  LogFolder(const std::string& given, const OwnerLock::Warn& warn);
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void keep(bool is_kept) { is_kept_ = is_kept; }
  /// Whether a rank on this host has printed something, or has met the others.
  bool has_logs() const;

 private:
  std::filesystem::path path_;
  std::optional<OwnerLock> lock_;  // of the one that was given
  bool is_temporary_ = false, is_kept_ = false;
};

/// The folder and the files of one rank.
struct RankLogs {
  std::string folder;  // with stdout, stderr, pid and the flight record
  Socket output, errors;

  /// `appends` to what an attempt before has printed. Throws RuntimeFailure(cannot_write), for links too.
  RankLogs(const std::string& log_dir, int rank, bool appends);
  /// Throws RuntimeFailure(cannot_write).
  void write_process(pid_t process) const;
};

}  // namespace partita
