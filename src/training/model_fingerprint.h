#pragma once
// The values that all processes of a job must have in common before they run a model.

#include "runtime/launch/fingerprint.h"
#include "training/fit_options.h"
#include "training/model_job.h"

namespace partita {

struct TrainingRun;

/// Returns the fingerprint of a program on `rows` that begins with `states`: the job's options except those of the
/// console (and ranks.threads, unless `needs_equal_threads`), the number of rows, and digests of the program, the
/// states, the first batch of rows and the executable file. `rows` null: it reads none. Throws InvalidArgument for rows
/// of which there are none, and what
/// reading rows throws (InvalidFile or InvalidArgument for an id that `checked_ids` refuses, or what a function that
/// makes rows throws).
LaunchFingerprint fingerprint_of(const ModelJob& job, const Program& program, const DatasetPtr& rows,
                                 const States& states);
/// Returns the fingerprint of a training that begins with `states`, which adds the length of its schedule, its learning
/// rate if a callback set one, its first step and length, the checkpoint that it resumes, the numbers of rows for
/// validation and test in `fit`, and whether it keeps the states. Throws as the other `fingerprint_of` does.
LaunchFingerprint fingerprint_of(const ModelJob& job, const TrainingRun& run, const FitOptions& fit,
                                 const States& states);

}  // namespace partita
