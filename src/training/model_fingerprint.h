#pragma once
// The values that all processes of a job must have in common before they run a model.

#include "runtime/launch/fingerprint.h"
#include "training/fit_options.h"
#include "training/model_job.h"

namespace partita {

struct TrainingRun;

/// Returns the fingerprint of a program on `rows` that begins with `states`. Throws InvalidArgument if there are no
/// rows.
LaunchFingerprint fingerprint_of(const ModelJob& job, const Program& program, const DatasetPtr& rows,
                                 const States& states);
/// Returns the fingerprint of a training, which includes its first step and its length. Throws InvalidArgument if
/// there are no rows.
LaunchFingerprint fingerprint_of(const ModelJob& job, const TrainingRun& run, const FitOptions& fit,
                                 const States& states);

}  // namespace partita
