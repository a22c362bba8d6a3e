#pragma once
// The angles of rotary position embedding, for its kernels.

#include <cmath>
#include <vector>

#include "ir/ops/attention/attention.h"

namespace partita {

/// Cosine and sine per position and pair, from angles computed in f64.
template <class T>
class Rotations {
 public:
  Rotations(const RotaryAttrs& attrs, int64_t positions, int64_t pairs)
      : pairs_(pairs), cosine_(positions * pairs), sine_(positions * pairs) {
    const double sign = attrs.inverse ? -1 : 1;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const double frequency = std::pow(attrs.base, -static_cast<double>(pair) / static_cast<double>(pairs));
      for (int64_t s = 0; s < positions; ++s) {
        const double angle = static_cast<double>(attrs.begin + s) * frequency;
        cosine_[s * pairs + pair] = static_cast<T>(std::cos(angle));
        sine_[s * pairs + pair] = static_cast<T>(sign * std::sin(angle));
      }
    }
  }

  /// Returns the cosines (sines) of all pairs at a position.
  const T* cosine(int64_t position) const { return cosine_.data() + position * pairs_; }
  const T* sine(int64_t position) const { return sine_.data() + position * pairs_; }

 private:
  int64_t pairs_;
  std::vector<T> cosine_, sine_;
};

}  // namespace partita
