#pragma once
// A training that goes on must be the training that was saved.

#include "compiler/compile.h"
#include "frontend/data/dataset.h"
#include "job/config.h"
#include "runtime/checkpoint/checkpoint.h"
#include "training/evaluation.h"

namespace partita {

/// Of the configuration in what describe_training says.
inline constexpr const char* kConfigKey = "partita.config";

/// What a file of weights or a checkpoint says of the training: its configuration, a digest of its program without the
/// places of the code, one of its first rows, and the steps of its schedule of learning rates.
Metadata describe_training(const JobConfig& config, const Graph& graph, const DatasetPtr& rows, int64_t schedule_steps);

/// What a file of weights says: the configuration alone.
Metadata describe_weights(const JobConfig& config);

/// Of the rows of the first batch, all columns.
uint64_t digest_of_rows(const DatasetPtr& rows, int64_t batch);

/// Throws InvalidFile, naming `path` and every difference, when the training in `saved` differs from `now` in what it
/// computes, but for the keys that `config.files.resume_with` lists. Files without such metadata pass. A schedule that
/// was as long as the training stays as long as it was, unless `config` says how long it is.
void require_same_training(const JobConfig& config, const Metadata& now, const TrainingPosition& saved,
                           const std::string& path);

/// A few lines for people: the plan, the memory of a rank, the time of each pass.
std::string describe_program(const Program& program);

/// A line more where the ranks of a training evaluate: the memory of a rank, which is the largest of both.
std::string describe_evaluation(const Program& training, const Evaluation& evaluation);

/// What a rank does of each of its stages.
std::string print_rank(const Program& program, const OpSet& ops, int64_t rank);

/// Throws InvalidArgument with the nearest key when `config.files.resume_with` names none that may differ.
void verify_resume_with(const JobConfig& config);

}  // namespace partita
