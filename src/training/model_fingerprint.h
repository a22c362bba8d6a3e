#pragma once
// What all processes of a job have to agree on before they run a model.

#include "runtime/launch/fingerprint.h"
#include "training/fit_options.h"
#include "training/model_job.h"

namespace partita {

struct TrainingRun;

/// Of a program on `rows` that begins with `states`.
LaunchFingerprint fingerprint_of(const ModelJob& job, const Program& program, const DatasetPtr& rows,
                                 const States& states);
/// Of a training, with where it begins and how long it is.
LaunchFingerprint fingerprint_of(const ModelJob& job, const TrainingRun& run, const FitOptions& fit,
                                 const States& states);

}  // namespace partita
