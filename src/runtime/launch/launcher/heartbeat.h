#pragma once
// Signs of life between a launcher and its agents.

#include <chrono>

#include "runtime/comm/event_count.h"

namespace partita {

/// One end's view of the other: how long that has been silent, and when a sign of its own is due. Only time in which
/// this process ran itself counts, so that a pause of both, or of this one alone, is no silence of the other.
class Heartbeat {
 public:
  /// From one sign of life to the next; the other end is asked about at least as often.
  static constexpr std::chrono::milliseconds kInterval{500};

  explicit Heartbeat(Deadline now) : last_(now), due_(now) {}

  void heard() {
    silent_ = {};
    was_heard_ = true;
  }
  bool was_heard() const { return was_heard_; }
  /// Counts the time since the last call, as far as it is not longer than a process that runs takes for it.
  void tick(Deadline now);
  Deadline::duration silent() const { return silent_; }
  /// Whether a sign of life is due; it is taken as given then.
  bool take_due(Deadline now);

 private:
  Deadline last_, due_;
  Deadline::duration silent_{};
  bool was_heard_ = false;
};

/// How long an end may be silent: the stall timeout, and no less than ten signs of life take.
Deadline::duration longest_silence(double stall_timeout);

}  // namespace partita
