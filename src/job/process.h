#pragma once
// What a job does to the process in which it runs.

#include "job/config.h"
#include "runtime/launch/console.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// What a process holds while a job runs in it: which ranks print (console.ranks), the log of what it prints
/// (files.log_dir), and the folder of its flight record (files.flight_record). To be made before the world of processes
/// is, which begins their records.
class JobProcess {
 public:
  /// Throws RuntimeFailure(cannot_write) for a log or a flight record that another job writes.
  JobProcess(const JobConfig& config, const Place& place);
  ~JobProcess();
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

 private:
  std::optional<OwnerLock> flight_record_;     // the lock of this process's own
  std::optional<std::string> records_before_;  // PARTITA_FLIGHT_RECORD before the job
  std::optional<Console> console_;
};

/// Warns when the ranks of this host have more compute threads than it has cores.
void warn_of_oversubscription(const JobConfig& config, const Place& place,
                              const std::function<void(const std::string&)>& warn);

}  // namespace partita
