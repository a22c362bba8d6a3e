#pragma once
// The efficiency of a device, from times of nodes.

#include "calibrate/training_times.h"

namespace partita {

/// `device` with the launch overhead and the efficiencies by kind of work, size and op with which these times are met
/// best: those of single nodes, long ones more than short ones, and their sum. Kinds of which there is no node keep
/// what they have. `device` has its peaks and its bandwidth.
DeviceSpec fit_device(DeviceSpec device, const std::vector<NodeTime>& nodes);

}  // namespace partita
