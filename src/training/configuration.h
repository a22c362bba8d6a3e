#pragma once
// The checks that a resumed training is the training that was saved, and descriptions of programs.

#include "compiler/compile.h"
#include "frontend/data/dataset.h"
#include "job/config.h"
#include "runtime/checkpoint/checkpoint.h"
#include "training/evaluation.h"

namespace partita {

/// Key of the configuration in the metadata of describe_training.
inline constexpr const char* kConfigKey = "partita.config";

/// Returns the metadata of a training for files of weights and checkpoints: its configuration, a digest of its program
/// without source locations, a digest of the first batch of `rows`, and the number of steps of its learning rate
/// schedule. Throws InvalidArgument if there are no rows.
Metadata describe_training(const JobConfig& config, const Graph& graph, const DatasetPtr& rows, int64_t schedule_steps);

/// Returns the metadata of a file of weights: only the configuration.
Metadata describe_weights(const JobConfig& config);

/// Returns a digest of all columns of the first batch, or of all rows if they are fewer. Throws InvalidArgument if
/// there are no rows.
uint64_t digest_of_rows(const DatasetPtr& rows, int64_t batch);

/// Checks that the training in `saved` computes the same as `now`. Keys in `config.files.resume_with` may differ. Files
/// without such metadata pass. A schedule as long as the training must keep its length, unless `config` sets the
/// length. Throws InvalidFile, which names `path` and every difference, otherwise.
void require_same_training(const JobConfig& config, const Metadata& now, const TrainingPosition& saved,
                           const std::string& path);

/// Returns a few lines for people: the plan, the memory of a rank, the time of each pass.
std::string describe_program(const Program& program);

/// Returns a line with the memory of a rank of a training that runs the evaluation between its steps, the larger of
/// what the two need, and with the number of rows in a batch of the evaluation.
std::string describe_evaluation(const Program& training, const Evaluation& evaluation);

/// Returns the local graphs of a rank as text, one per stage that it runs.
std::string print_rank(const Program& program, const OpSet& ops, int64_t rank);

/// Checks that `config.files.resume_with` contains only keys that may differ. Throws InvalidArgument, with the nearest
/// key, otherwise.
void verify_resume_with(const JobConfig& config);

}  // namespace partita
