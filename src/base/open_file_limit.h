#pragma once
// How many files this process may have open.

#include <cstdint>

namespace partita {

/// Returns the number of files that this process may have open at a time.
int64_t open_file_limit();
/// Returns the same number as it is while no RaisedOpenFileLimit lives.
int64_t unraised_open_file_limit();

/// Raises that number to the maximum that the system allows without privileges while an object lives. The last of
/// several objects restores it. Threads may make and end objects concurrently. Programs that use `select` fail with
/// many files, so processes that are started call `restore_open_file_limit`.
class RaisedOpenFileLimit {
 public:
  RaisedOpenFileLimit();
  ~RaisedOpenFileLimit();
  RaisedOpenFileLimit& operator=(RaisedOpenFileLimit&&) = delete;
};

/// Restores the limit that the process had before it was raised, in a new process between fork and exec. Does nothing
/// if it is not raised.
void restore_open_file_limit() noexcept;

}  // namespace partita
