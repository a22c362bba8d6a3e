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

}  // namespace partita
