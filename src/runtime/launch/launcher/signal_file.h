#pragma once
// Reads signals from a file descriptor.

#include <csignal>

#include "runtime/comm/sockets/socket.h"

namespace partita {

/// While it lives, SIGINT, SIGTERM, SIGHUP and SIGUSR1 have no effect of their own: they are read here. Make it before
/// other threads, which inherit that.
class SignalFile {
 public:
  SignalFile();
  ~SignalFile();
  SignalFile& operator=(SignalFile&&) = delete;

  /// File descriptor that is readable when there is a signal.
  int file() const { return file_.file(); }
  /// The next signal; 0 if there is none.
  int next() const;

 private:
  sigset_t before_;
  Socket file_;
};

}  // namespace partita
