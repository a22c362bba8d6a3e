#pragma once
// The angles of rotary position embedding, for its kernels.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ir/ops/attention/attention.h"

namespace partita {

/// Returns the angle by which pair `pair` of `pairs` turns from one position to the next.
inline double rotary_frequency(const RotaryAttrs& attrs, int64_t pair, int64_t pairs) {
  const double frequency = std::pow(attrs.base, -static_cast<double>(pair) / static_cast<double>(pairs));
  if (attrs.factor == 1) return frequency;
  const double divided = frequency / attrs.factor;
  if (attrs.trained == 0) return divided;
  const double turns = static_cast<double>(attrs.trained) * frequency / (2 * std::numbers::pi);
  const double kept = std::clamp((turns - attrs.low) / (attrs.high - attrs.low), 0.0, 1.0);
  return kept * frequency + (1 - kept) * divided;
}

/// Cosine and sine per position and pair, from angles computed in f64: a table of the positions from `begin` on, and
/// those of any other one.
template <class T>
class Rotations {
 public:
  Rotations(const RotaryAttrs& attrs, int64_t positions, int64_t pairs)
      : pairs_(pairs), sign_(attrs.inverse ? -1 : 1), cosine_(positions * pairs), sine_(positions * pairs) {
    for (int64_t pair = 0; pair < pairs; ++pair) frequencies_.push_back(rotary_frequency(attrs, pair, pairs));
    for (int64_t s = 0; s < positions; ++s) {
      turn(attrs.begin + s, cosine_.data() + s * pairs, sine_.data() + s * pairs);
    }
  }

  /// Writes the cosines and sines of all pairs at a position that need not be in the table, as those in it are.
  void turn(int64_t position, T* cosine, T* sine) const {
    for (int64_t pair = 0; pair < pairs_; ++pair) {
      const double angle = static_cast<double>(position) * frequencies_[static_cast<size_t>(pair)];
      cosine[pair] = static_cast<T>(std::cos(angle));
      sine[pair] = static_cast<T>(sign_ * std::sin(angle));
    }
  }
  /// Returns the cosines (sines) of all pairs at a position.
  const T* cosine(int64_t position) const { return cosine_.data() + position * pairs_; }
  const T* sine(int64_t position) const { return sine_.data() + position * pairs_; }

 private:
  int64_t pairs_;
  double sign_;
  std::vector<double> frequencies_;  // one per pair
  std::vector<T> cosine_, sine_;
};

}  // namespace partita
