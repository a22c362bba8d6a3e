#pragma once
// Signals as a file that can be read.

#include <csignal>

#include "runtime/comm/sockets/socket.h"

namespace partita {

/// While it lives, SIGINT, SIGTERM, SIGHUP and SIGUSR1 do nothing by themselves: they are read here.
class SignalFile {
 public:
  SignalFile();
  ~SignalFile();
  SignalFile(const SignalFile&) = delete;
  SignalFile& operator=(const SignalFile&) = delete;

  /// Readable when a signal has come.
  int file() const { return file_.file(); }
  /// The next signal; 0: none has come.
  int next() const;

 private:
  sigset_t before_;
  Socket file_;
};

}  // namespace partita
