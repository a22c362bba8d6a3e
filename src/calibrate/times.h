#pragma once
// Times of one thing that was done several times.

#include <algorithm>
#include <chrono>
#include <vector>

namespace partita {

using CalibrationClock = std::chrono::steady_clock;

inline double seconds_since(CalibrationClock::time_point begin) {
  return std::chrono::duration<double>(CalibrationClock::now() - begin).count();
}

/// The shortest, what else the machine did being none of it; of no times 0.
inline double shortest(const std::vector<double>& times) {
  return times.empty() ? 0 : *std::min_element(times.begin(), times.end());
}

/// The median: what a step takes as a rule; of no times 0.
inline double median(std::vector<double> times) {
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace partita
