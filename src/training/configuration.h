#pragma once
// The checks that a resumed training is the training that was saved, and descriptions of programs.

#include "compiler/compile.h"
#include "frontend/data/dataset.h"
#include "job/config.h"
#include "runtime/checkpoint/checkpoint.h"
#include "training/evaluation.h"

namespace partita {

/// Keys of the metadata of describe_training: the configuration, the digest of the first training rows, and the number
/// of validation rows with their digest.
inline constexpr const char *kConfigKey = "partita.config", *kRowsKey = "partita.rows",
                            *kValidationKey = "partita.validation";

/// Returns the metadata of a training for its checkpoints: its configuration without files and console, a digest of the
/// forward pass and the update of `graph` without source locations, a digest of the first batch of `rows`, the number
/// of steps of its learning rate schedule and, unless `validation` is null, its number of rows and, unless functions
/// make them, a digest of the first. Throws InvalidArgument if there are no rows, and what reading rows throws
/// (InvalidFile or InvalidArgument for an id that `checked_ids` refuses, or what a function that makes rows throws).
Metadata describe_training(const JobConfig& config, const Graph& graph, const DatasetPtr& rows, int64_t schedule_steps,
                           const DatasetPtr& validation = nullptr);

/// Returns the metadata of a file of weights: only the configuration, without files and console.
Metadata describe_weights(const JobConfig& config);

/// Returns a digest of all columns of the first `batch` rows, or of all rows if they are fewer. Throws InvalidArgument
/// if there are no rows or `batch` is below 1, and what reading rows throws (InvalidFile or InvalidArgument for an id
/// that `checked_ids` refuses, or what a function that makes rows throws).
uint64_t digest_of_rows(const DatasetPtr& rows, int64_t batch);

/// Checks that the training of the checkpoint `path`, at the position `saved`, computes the same as the one of `config`
/// with the metadata `now` of describe_training. Keys in `config.files.resume_with` may differ. A position without such
/// metadata passes. If the learning rates of both depend on the length of the schedule and no callback set one, this
/// length must be equal, unless only `config` sets `schedule.steps`. Throws InvalidFile, which names `path` and every
/// difference, otherwise, and if the saved metadata is bad.
void require_same_training(const JobConfig& config, const Metadata& now, const TrainingPosition& saved,
                           const std::string& path);

/// Whether the metadata of a checkpoint describe its training, so require_same_training compares it.
bool describes_training(const Metadata& saved);

/// Whether the configuration accepts another program (`files.resume_with`), and `saved`, metadata of describe_training,
/// is of another one than `now`.
bool accepts_other_program(const JobConfig& config, const Metadata& now, const Metadata& saved);

/// Returns the configuration that `text`, from the checkpoint `path`, describes. Throws InvalidFile if it cannot be
/// parsed or this program refuses a value.
JobConfig saved_configuration(const std::string& text, const std::string& path);

/// Returns a few lines for people: for each stage its plan and its numbers of nodes and collectives (with several
/// stages also its ranks and memory), then the most memory of a rank and that of all states, then the seconds of each
/// pass.
std::string describe_program(const Program& program);

/// Returns a line with the memory of a rank of a training that runs the evaluation between its steps, the larger of
/// what the two need, and with the number of rows in a batch of the evaluation.
std::string describe_evaluation(const Program& training, const Evaluation& evaluation);

/// Returns the local graphs of a rank as text, one per stage that it runs. If the program has several stages, a line
/// such as "# stage 0 of 2" precedes each.
std::string print_rank(const Program& program, const OpSet& ops, int64_t rank);

/// Checks that `config.files.resume_with` contains only "program", "rows" and keys of options whose effect is
/// Effect::program. Throws InvalidArgument, with the nearest of them, otherwise.
void verify_resume_with(const JobConfig& config);

}  // namespace partita
