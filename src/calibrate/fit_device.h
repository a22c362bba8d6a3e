#pragma once
// Efficiency of a device, fitted to times of nodes.

#include "calibrate/training_times.h"

namespace partita {

/// Returns `device` with the launch overhead, the efficiency of each kind of work, and the measured f32 calls of each
/// op (`measured`). The launch overhead is the shortest time of the smallest nodes, 0 if there are none. Efficiencies
/// are fitted to single nodes, long ones more than short ones, and to the sum of their times. Kinds without a node that
/// takes time keep theirs. The peaks and the bandwidth of `device` must be set.
DeviceSpec fit_device(DeviceSpec device, const std::vector<NodeTime>& nodes);

}  // namespace partita
