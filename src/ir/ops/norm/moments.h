#pragma once
// Mean and variance in two phases: the sum of all values gives a point near the mean, then the sums of the differences
// from it give both. Nothing cancels, however far the mean is from 0.

#include <algorithm>

#include "base/fields.h"
#include "base/number.h"
#include "ir/ops/support.h"

namespace partita {

struct MomentsSumAttrs {
  int64_t groups = 1;
  static constexpr auto fields() { return std::tuple{field("groups", &MomentsSumAttrs::groups)}; }
};

/// `count`: number of values in each sum. `dtype`: type of the results.
struct MomentsFinishAttrs {
  int64_t count = 1;
  double epsilon = 1e-5;
  DType dtype = DType::f32;
  static constexpr auto fields() {
    using A = MomentsFinishAttrs;
    return std::tuple{field("count", &A::count), field("epsilon", &A::epsilon), field("dtype", &A::dtype)};
  }
};

struct Moments {
  double mean = 0, variance = 0;
};

/// Returns the moments of `count` values (0 counts as 1) from the sums of their differences from `near` and of the
/// squares of these. Exact except for rounding if `near` is within a few standard deviations of the mean (Chan, Golub,
/// LeVeque 1983, "Algorithms for computing the sample variance").
inline Moments moments_near(double near, double rest, double squares, int64_t count) {
  const auto n = static_cast<double>(std::max<int64_t>(1, count));
  const double shift = rest / n;
  return {near + shift, not_below_zero(squares / n - shift * shift)};
}

/// Returns the gradient of x through mean and rstd, of which each value of x has the share `share` (one part in their
/// number): the slope of mean is `share`, that of rstd -share rstd^3 (x - mean). All are in one type and broadcast to
/// x. Without a mean x is not centered. Empty if both gradients are.
Value gradient_of_moments(const BuildCall& call, Value x, Value mean, Value rstd, Value d_mean, Value d_rstd,
                          double share);

/// Whether a point `shift` away from the mean is too far for `moments_near`, which loses six bits there.
inline bool is_far(double shift, double variance) { return shift * shift > 64 * variance; }

}  // namespace partita
