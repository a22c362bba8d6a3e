#pragma once
// Signals that ask a training for something: to end, or to be saved.

#include <csignal>
#include <cstdint>

namespace partita {

/// What came so far.
struct SignalRequests {
  int stop = 0;       // the first signal that asks to end; 0: none came
  int64_t saves = 0;  // how often it was asked to be saved
};

/// While one lives, the first SIGINT, SIGTERM or SIGHUP is kept, a second one of any of them ends the process at once
/// as it would have without, and SIGUSR1 is counted. One per process. Signals that the process was started to ignore
/// (nohup) stay ignored.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// What came since the last guard was made: an earlier training's end is not the next one's.
  static SignalRequests requests();

 private:
  static constexpr int kKept = 4;
  struct sigaction before_[kKept];
};

/// "SIGTERM"; "signal 40" for one without a name.
const char* signal_name(int signal);

}  // namespace partita
