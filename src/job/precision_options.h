#pragma once
// The precision of a job's layers.

#include "frontend/network/layer.h"
#include "job/config.h"

namespace partita {

/// Returns what the configuration and the network say about 16-bit values. Throws InvalidArgument for an entry of
/// `precision_of` that is not LAYER=f32, or if there is one and `config.precision` is f32, and for an unknown precision
/// in `of_network`.
PrecisionOptions precision_options(const TrainingConfig& config, const ScopePrecisions& of_network = {});

}  // namespace partita
