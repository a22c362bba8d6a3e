#pragma once
// Statistics of repeated timings.

#include <algorithm>
#include <chrono>
#include <vector>

namespace partita {

using CalibrationClock = std::chrono::steady_clock;

inline double seconds_since(CalibrationClock::time_point begin) {
  return std::chrono::duration<double>(CalibrationClock::now() - begin).count();
}

/// Returns the shortest time, the one least disturbed by other work; 0 if there are none.
inline double shortest(const std::vector<double>& times) {
  return times.empty() ? 0 : *std::min_element(times.begin(), times.end());
}

/// Returns the median, the time that a step usually takes, of an even number the larger of the middle two; 0 if there
/// are none.
inline double median(std::vector<double> times) {
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace partita
