#pragma once
// Signs of life between a launcher and its agents.

#include <chrono>

#include "runtime/comm/event_count.h"

namespace partita {

/// One end's view of the other: how long it has been silent, and when an own sign of life is due. Only time in which
/// this process was running counts, so a suspension of both, or only of this process, is no silence of the other.
class Heartbeat {
 public:
  /// Interval between signs of life, and at most between two calls of `tick`.
  static constexpr std::chrono::milliseconds kInterval{500};

  explicit Heartbeat(Deadline now) : last_(now), due_(now) {}

  /// Records a sign of life of the other end: its silence is 0 again.
  void heard() {
    silent_ = {};
    was_heard_ = true;
  }
  bool was_heard() const { return was_heard_; }
  /// Adds the time since the last call to the silence, at most two intervals: more means that this process was
  /// suspended.
  void tick(Deadline now);
  Deadline::duration silent() const { return silent_; }
  /// Whether a sign of life is due. If so, counts it as sent.
  bool take_due(Deadline now);

 private:
  Deadline last_, due_;
  Deadline::duration silent_{};
  bool was_heard_ = false;
};

/// How long an end may be silent: the stall timeout in seconds, but at least ten intervals.
Deadline::duration longest_silence(double stall_timeout);

}  // namespace partita
