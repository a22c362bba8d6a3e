#pragma once
// The values that all processes of a job must have in common before they run a model.

#include "runtime/launch/fingerprint.h"
#include "training/fit_options.h"
#include "training/model_job.h"

namespace partita {

struct TrainingRun;

/// Returns the fingerprint of a program on `rows` that begins with `states`: the job's options except those of the
/// console, the program, and digests of the states and the first batch of rows. Throws InvalidArgument if there are no
/// rows, and what reading rows throws (InvalidFile or InvalidArgument for an id that `checked_ids` refuses, or what a
/// function that makes rows throws).
LaunchFingerprint fingerprint_of(const ModelJob& job, const Program& program, const DatasetPtr& rows,
                                 const States& states);
/// Returns the fingerprint of a training that begins with `states`, which includes its first step and its length.
/// Throws as the other `fingerprint_of` does.
LaunchFingerprint fingerprint_of(const ModelJob& job, const TrainingRun& run, const FitOptions& fit,
                                 const States& states);

}  // namespace partita
