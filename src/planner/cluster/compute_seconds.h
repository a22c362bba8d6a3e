#pragma once
// Seconds of a computation on one device.

#include "planner/cluster/cluster.h"

namespace partita {

/// The longer of computing and moving bytes (a roofline: Williams, Waterman, Patterson, 2009), each at the share of the
/// device's rate that this kind reaches at this size, and the overhead of a launch. More work never takes less time,
/// nor does a slower device; of an op with measured calls they say how long. Work of no operations and no bytes is no
/// call: 0 seconds.
double seconds_of(const Work& work, const DeviceSpec& device);

/// Whether the share of a measured call is one of the peak, as that of products, convolutions and attention, and not of
/// the memory's bandwidth.
bool is_compute_bound(const Work& work);
/// That rate.
double rate_of(const Work& work, const DeviceSpec& device);

/// flop/s of dense products in this type, or in the nearest that holds it when the device says nothing of it: f16 as
/// bf16 and the other way, any other one as the next wider float, or as the widest that is there.
double peak_of(const DeviceSpec& device, DType dtype);

/// What `curve` says at a size; 1 without points.
double share_at(const Curve& curve, double size);

}  // namespace partita
