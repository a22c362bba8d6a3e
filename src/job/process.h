#pragma once
// Effects of a job on the process in which it runs.

#include "job/config.h"
#include "runtime/launch/console.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// Process-wide state of a running job: which ranks print (console.ranks), the log of what they print (files.log_dir),
/// the folder of the flight record (files.flight_record), and for xla:cpu the variable that says what its plugin logs.
/// Create it before the world of processes, which starts the flight records. The destructor restores the environment
/// but for the last, since a plugin stays loaded.
class JobProcess {
 public:
  /// Opens the log and locks the flight record, whose folder it creates and puts into the environment, if the
  /// configuration names them. Throws RuntimeFailure(cannot_write) if the log cannot be written, or if another job is
  /// writing one of them, RuntimeFailure for a signal while it waits for an earlier attempt of the job, and
  /// InvalidArgument for an invalid PARTITA_STALL_TIMEOUT.
  JobProcess(const JobConfig& config, const Place& place);
  ~JobProcess();
  JobProcess& operator=(JobProcess&&) = delete;

 private:
  std::optional<OwnerLock> flight_record_;     // lock on this process's record
  std::optional<std::string> records_before_;  // PARTITA_FLIGHT_RECORD before the job
  std::optional<Console> console_;
};

/// Calls `warn` if the ranks of this host, or all ranks if they are threads, have more compute threads than cores that
/// they may use, or if a rank has more than the cores to which it is bound.
void warn_of_oversubscription(const JobConfig& config, const Place& place,
                              const std::function<void(const std::string&)>& warn);

}  // namespace partita
