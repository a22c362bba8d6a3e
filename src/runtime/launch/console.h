#pragma once
// Who writes where when ranks are processes.

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "runtime/launch/launched.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// The process as a launcher started it; none when it was started alone.
std::optional<LaunchedRank> this_rank();

/// To be called before any file is opened: a standard stream that the caller closed would be the next file otherwise,
/// which would then get the text of the console. Reading or writing such a stream fails; what goes to stderr is lost.
void open_standard_streams();

/// While it lives, std::cout of every process but that of rank 0 is silent unless `all`, and with a folder goes to
/// FOLDER/rank_R.log too. Several may live at a time and end in any order. Throws RuntimeFailure(cannot_write), also
/// while another job writes that file.
class Console {
 public:
  Console(int rank, bool all, const std::string& log_dir);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

 private:
  class Tee;

  std::optional<OwnerLock> lock_;  // of the log
  std::ofstream log_;
  std::unique_ptr<Tee> tee_;
  std::streambuf* before_ = nullptr;
};

}  // namespace partita
