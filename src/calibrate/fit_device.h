#pragma once
// Efficiency of a device, fitted to times of nodes.

#include "calibrate/training_times.h"

namespace partita {

/// Returns `device` with the launch overhead and the efficiencies by kind of work, size and op that fit the times best.
/// The fit is to single nodes, long ones more than short ones, and to their sum. Kinds without a node keep their
/// efficiency. The peaks and the bandwidth of `device` must be set.
DeviceSpec fit_device(DeviceSpec device, const std::vector<NodeTime>& nodes);

}  // namespace partita
