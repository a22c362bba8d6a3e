#pragma once
// The time that a computation takes on one device.

#include "planner/cluster/cluster.h"

namespace partita {

/// Seconds of a call on a device, by a roofline model (Williams, Waterman, Patterson, 2009): the longer of computing
/// and moving bytes, times the factor of the op, plus the launch overhead. Each rate is scaled by the share that this
/// kind of work reaches at this size. More work never takes less time, nor does a slower device. For ops with measured
/// calls, the time is interpolated from these, plus the launch overhead. Work without operations and bytes takes 0
/// seconds.
double seconds_of(const Work& work, const DeviceSpec& device);

/// Whether the peak limits this work rather than the memory bandwidth: true for products, convolutions, attention and
/// work without bytes.
bool is_compute_bound(const Work& work);
/// The rate that limits this work: flop/s if it is compute-bound, else bytes/s.
double rate_of(const Work& work, const DeviceSpec& device);

/// Returns the peak flop/s of dense products in this type. If the device does not specify the type, f16 and bf16 stand
/// for each other, then the next wider float counts (f32 for integers), and last the lowest peak of the device; 0 if it
/// has none.
double peak_of(const DeviceSpec& device, DType dtype);

/// Returns the share of a curve at a size: interpolated between its points on logarithms of size and share, that of the
/// nearest point beyond them; 1 if the curve is empty.
double share_at(const Curve& curve, double size);

}  // namespace partita
