#pragma once
// Locks for files and folders that one job at a time may write.

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

namespace partita {

/// A file or folder that one job at a time writes.
struct OwnedPath {
  std::string where;                 // errors and warnings begin with "[where]"
  std::string path;                  // path of the file or folder
  std::string lock;                  // file that is locked and names its holder; "": nothing is locked
  bool waits_when_restarted = true;  // a restarted job waits for the previous attempt to end
  bool makes_folder = false;         // `path` is a folder, created if it is missing; its parent exists
};

/// The lock of a file. Devices, pipes and paths that cannot be resolved have none.
OwnedPath owned_file(const std::string& where, const std::string& path);
/// The lock of a folder. Locks for different uses of one folder do not exclude each other.
OwnedPath owned_folder(const std::string& where, const std::string& path, const std::string& use);
/// The lock of a folder of checkpoints, which OwnerLock creates if it is missing.
OwnedPath owned_checkpoints(const std::string& folder);

/// Whether a launcher says that it has started this job before: partita launch, Slurm or torchrun.
bool is_restarted();

/// Holds the lock of a path while this object lives. The lock is released when the process ends, however it ends;
/// programs that the process starts do not inherit it. An empty folder that was created for the lock is removed.
class OwnerLock {
 public:
  using Warn = std::function<void(const std::string&)>;

  /// Takes the lock. With `waits`, or if the job was restarted, tries again until the stall timeout, since the process
  /// of an earlier attempt may still be ending; `warn` says so. Calls `warn` if the file system has no locks or cannot
  /// create the lock file; nothing is held then, nor if the folder is missing. Throws RuntimeFailure(cannot_write),
  /// naming process and host, if another job holds the lock; RuntimeFailure with the signal's exit code if a signal
  /// asks the job to end while it waits; and as stall_timeout does.
  OwnerLock(OwnedPath owned, bool waits, const Warn& warn);
  OwnerLock(OwnerLock&& other) noexcept
      : owned_(std::move(other.owned_)),
        file_(std::exchange(other.file_, -1)),
        holder_(other.holder_),
        was_held_(other.was_held_),
        made_folder_(std::exchange(other.made_folder_, false)) {}
  OwnerLock& operator=(OwnerLock&&) = delete;
  ~OwnerLock();

  /// Whether a lock is held.
  bool is_held() const { return file_ >= 0; }
  /// Takes the lock again if its file was removed, for example with its folder. Does nothing if none was ever held.
  /// Throws RuntimeFailure(cannot_write) if another job holds it; does not wait.
  void renew();

 private:
  enum class Attempt { done, held_by_other, no_folder, impossible };
  /// Tries once. `impossible` leaves the reason in errno. `no_folder` is reported later by whoever writes there.
  Attempt attempt();
  Attempt lock(int file);
  bool is_in_place() const;
  std::string print_holder() const;
  [[noreturn]] void refuse() const;
  void release() noexcept;

  OwnedPath owned_;
  int file_ = -1;
  pid_t holder_ = 0;  // the process that took the lock; its forks do not release it
  bool was_held_ = false;
  bool made_folder_ = false;
};

}  // namespace partita
