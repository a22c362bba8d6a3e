#include "runtime/launch/launcher/signal_file.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace partita {

SignalFile::SignalFile() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  file_ = Socket(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

SignalFile::~SignalFile() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

int SignalFile::next() const {
  signalfd_siginfo info{};
  return ::read(file_.file(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace partita
