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

/// Describes the lock of a file: `.NAME.owner` in the folder of the file to which the path leads. Devices, pipes,
/// folders and paths that cannot be resolved have none ("").
OwnedPath owned_file(const std::string& where, const std::string& path);
/// Describes the lock of a folder for one use: `.USE.owner` in it. Locks for different uses of one folder do not
/// exclude each other.
OwnedPath owned_folder(const std::string& where, const std::string& path, const std::string& use);
/// Describes the lock of a folder of checkpoints: `.checkpoints.owner` in it. OwnerLock creates the folder if it is
/// missing.
OwnedPath owned_checkpoints(const std::string& folder);

/// Whether a launcher says that it has started this job before (partita launch, Slurm or torchrun): PARTITA_RUN,
/// SLURM_RESTART_COUNT or TORCHELASTIC_RESTART_COUNT is a number above 0.
bool is_restarted();

/// Holds the lock of a path while this object lives. The lock is released when the process ends, however it ends;
/// programs that the process starts do not inherit it. An empty folder that was created for the lock is removed.
class OwnerLock {
 public:
  using Warn = std::function<void(const std::string&)>;

  /// Takes the lock; does nothing if `owned` has none. If another job holds it, tries again until the stall timeout
  /// with `waits`, or if the job was restarted and `owned.waits_when_restarted` is set: the process of an earlier
  /// attempt may still be ending. `warn`, if not null, says so. It is also called if the file system has no locks or
  /// cannot create the lock file; nothing is held then, nor if the folder is missing. Throws
  /// RuntimeFailure(cannot_write), naming process and host, if another job holds the lock; RuntimeFailure with the
  /// signal's exit code if a signal asks the job to end while it waits; InvalidArgument for an invalid
  /// PARTITA_STALL_TIMEOUT if it may wait; and what `warn` throws.
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
  /// Throws RuntimeFailure(cannot_write) if another job holds it; does not wait. Nothing is held if it cannot be taken
  /// for another reason.
  void renew();

 private:
  enum class Attempt { done, held_by_other, no_folder, impossible };
  /// Creates the folder, if `makes_folder`, and the lock file, and tries once to lock it. `impossible` leaves the
  /// reason in errno. `no_folder` is reported later by whoever writes there.
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
