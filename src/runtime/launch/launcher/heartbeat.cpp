#include "runtime/launch/launcher/heartbeat.h"

#include <algorithm>

namespace partita {

void Heartbeat::tick(Deadline now) {
  silent_ += std::min<Deadline::duration>(now - last_, 2 * kInterval);
  last_ = now;
}

bool Heartbeat::take_due(Deadline now) {
  if (now < due_) return false;
  due_ = now + kInterval;
  return true;
}

Deadline::duration longest_silence(double stall_timeout) {
  const std::chrono::duration<double> given(stall_timeout);
  return std::max(std::chrono::duration_cast<Deadline::duration>(given),
                  std::chrono::duration_cast<Deadline::duration>(10 * Heartbeat::kInterval));
}

}  // namespace partita
