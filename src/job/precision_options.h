#pragma once
// The precision of a job's layers.

#include "frontend/network/layer.h"
#include "job/config.h"

namespace partita {

/// Returns what the configuration and the network say about 16-bit values. Throws InvalidArgument for an entry of
/// `precision_of` that is not LAYERS=f32, LAYERS=bf16 or LAYERS=f16, and if there is one, or a residual stream of f32,
/// and nothing has 16 bits. Also for an unknown precision in `of_network`.
PrecisionOptions precision_options(const TrainingConfig& config, const ScopePrecisions& of_network = {});

}  // namespace partita
