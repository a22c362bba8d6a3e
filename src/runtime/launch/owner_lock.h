#pragma once
// Files and folders that one job at a time may write.

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

namespace partita {

/// What a job wants to write alone.
struct OwnedPath {
  std::string where;          // errors and warnings begin with "[where]"
  std::string path;           // of the file or the folder
  std::string lock;           // the file that is locked and that says who holds it; "": there is nothing to lock
  bool waits_when_restarted = true;  // for the job of an attempt before to end
  bool makes_folder = false;  // `path` is a folder that is made where it is missing, in a folder that is there
};

/// A file. Devices and pipes have no lock.
OwnedPath owned_file(const std::string& where, const std::string& path);
/// A folder. Locks for different uses of one folder do not exclude each other.
OwnedPath owned_folder(const std::string& where, const std::string& path, const std::string& use);
/// A folder of checkpoints, which is made where it is missing.
OwnedPath owned_checkpoints(const std::string& folder);

/// Whether a launcher says that it started this job before: partita launch, Slurm or torchrun.
bool is_started_again();

/// Holds the lock of a path for as long as the object lives. The lock is free when the process has ended, however it
/// ended, and no program that the process starts inherits it. An empty folder that was made for the lock is removed.
class OwnerLock {
 public:
  using Warn = std::function<void(const std::string&)>;

  /// Throws RuntimeFailure(cannot_write), naming process and host, when another job holds the lock. `waits`: tries
  /// again until the stall timeout before, as the process of an earlier attempt may still be ending; so does each job
  /// that is started again. A signal that asks the job to end ends the wait: RuntimeFailure with its exit code. `warn`
  /// is called when the file system has no locks, or takes no file for one: nothing is held then.
  OwnerLock(OwnedPath owned, bool waits, const Warn& warn);
  OwnerLock(OwnerLock&& other) noexcept
      : owned_(std::move(other.owned_)),
        file_(std::exchange(other.file_, -1)),
        holder_(other.holder_),
        was_held_(other.was_held_),
        made_folder_(std::exchange(other.made_folder_, false)) {}
  OwnerLock& operator=(OwnerLock&&) = delete;
  ~OwnerLock();

  bool is_held() const { return file_ >= 0; }
  /// Takes the lock again if its file was removed, as with its folder. Throws as the constructor does, without a wait.
  void renew();

 private:
  enum class Attempt { done, held_by_other, no_folder, impossible };
  /// `impossible` leaves the reason in errno. `no_folder`: there is none, which whoever writes there reports.
  Attempt attempt();
  Attempt lock(int file);
  bool is_in_place() const;
  std::string print_holder() const;
  [[noreturn]] void refuse() const;
  void release() noexcept;

  OwnedPath owned_;
  int file_ = -1;
  pid_t holder_ = 0;  // the process that took the lock; a fork of it gives nothing back
  bool was_held_ = false;
  bool made_folder_ = false;
};

}  // namespace partita
