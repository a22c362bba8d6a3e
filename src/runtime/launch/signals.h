#pragma once
// Signals that ask a training to end or to save.

#include <csignal>
#include <cstdint>

namespace partita {

/// The signals received so far.
struct SignalRequests {
  int stop = 0;       // the first signal that asks to end; 0: none
  int64_t saves = 0;  // number of requests to save
};

/// While one lives, the first SIGINT, SIGTERM or SIGHUP is kept. A second one of any of them ends the process at once,
/// as it would without this object. The first SIGINT prints a line at once if standard error is a terminal, since a
/// step or a compilation may take long. SIGUSR1 is counted. One per process. Signals that were ignored when the process
/// started (nohup) stay ignored.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard& operator=(SignalGuard&&) = delete;

  /// Returns the signals received since the last guard was made, so the end of an earlier training does not end the
  /// next; none before the first guard.
  static SignalRequests requests();

 private:
  static constexpr int kKept = 4;
  struct sigaction before_[kKept];
};

/// Name of a signal: "SIGTERM". "a signal" for others than SIGINT, SIGTERM, SIGHUP and SIGUSR1.
const char* signal_name(int signal);

}  // namespace partita
