#pragma once
// Decides who prints where when ranks are processes.

#include <fstream>
#include <memory>
#include <optional>

#include "runtime/launch/launched.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// Returns this process's rank, as the launcher says; none if the process was started alone. Throws LauncherErrors.
std::optional<LaunchedRank> this_rank();

/// Opens /dev/null in place of standard streams that the caller closed, so that no file that is opened later becomes
/// one and gets the text of the console. Reading or writing such a stream fails; what goes to stderr is lost. Call it
/// before any file is opened.
void open_standard_streams();

/// While it lives, std::cout is silent in every process but that of rank 0, unless `all` is set. With a folder the text
/// also goes to FOLDER/rank_R.log. Several may live at a time and end in any order, all on one thread. The constructor
/// throws RuntimeFailure(cannot_write) if the file cannot be written or another job writes it, InvalidArgument for an
/// invalid PARTITA_STALL_TIMEOUT, and RuntimeFailure with a signal's exit code if one asks the job to end while it
/// waits for the file.
class Console {
 public:
  Console(int rank, bool all, const std::string& log_dir);
  ~Console();
  Console& operator=(Console&&) = delete;

 private:
  class Tee;

  std::optional<OwnerLock> lock_;  // lock of the log file
  std::ofstream log_;
  std::unique_ptr<Tee> tee_;
  std::streambuf* before_ = nullptr;
};

}  // namespace partita
