#pragma once
// How the loss of a job is scaled, and what is done about a step whose loss or gradients are not finite.

#include "job/config.h"

namespace partita {

struct TrainingOptions;

/// Returns how the loss is scaled: never `automatic`, which is static with a loss scale, else dynamic if the
/// configuration has products of f16, else off.
LossScaling loss_scaling_of(const TrainingConfig& config);

/// Whether a step whose loss or gradients are not finite is left out, while the next steps go on.
bool skips_bad_steps(const TrainingConfig& config);

/// Sets what the training graph needs for the scale and for steps that are left out.
void add_loss_scaling(TrainingOptions& options, const TrainingConfig& config);

/// Checks that a static scale has a number. Throws InvalidArgument otherwise.
void verify_loss_scaling(const TrainingConfig& config);

}  // namespace partita
