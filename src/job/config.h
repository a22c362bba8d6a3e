#pragma once
// One typed configuration for everything that runs a network: what is trained, how, on what, and what is written.
// Commands, configuration files, benchmarks and programs of users fill the same struct; docs/reference/configuration.md
// lists its keys and flags.

#include "compiler/autodiff/optimizer.h"
#include "compiler/search/make_plan.h"
#include "compiler/search/named_cuts.h"
#include "frontend/data/source.h"
#include "frontend/network/losses.h"
#include "ir/graph/annotate_nodes.h"
#include "ir/kernels/kernel_set.h"
#include "job/lr_schedule.h"
#include "job/recompute_marks.h"
#include "runtime/launch/place.h"

namespace partita {

/// What the statistics of a batch norm are taken over: each rank's rows of a micro-batch, or those of the global batch.
enum class BatchNormStatistics { local, global };
template <>
inline constexpr auto kNames<BatchNormStatistics> = names("local", "global");

/// What the update sees of the gradients of the ranks: the mean over the global batch, or the sum of the ranks' means,
/// which is outside the promise of equal numbers.
enum class GradientReduction { mean, sum };
template <>
inline constexpr auto kNames<GradientReduction> = names("mean", "sum");

/// What the gradients of micro-batches add up to: the mean over the global batch, or as many times the mean as there
/// are micro-batches, which is outside the promise of equal numbers.
enum class MicroLoss { mean, sum };
template <>
inline constexpr auto kNames<MicroLoss> = names("mean", "sum");

/// The ranks that print, when ranks are processes.
enum class ConsoleRanks { first, all };
template <>
inline constexpr auto kNames<ConsoleRanks> = names("first", "all");

enum class Switch { off, on };
template <>
inline constexpr auto kNames<Switch> = names("off", "on");

/// What a training does when a checkpoint cannot be written: it goes on, or ends.
enum class CheckpointErrors { warn, stop };
template <>
inline constexpr auto kNames<CheckpointErrors> = names("warn", "stop");

struct DataConfig {
  std::optional<DataSource> source{};  // none: what the model brings along, or generated rows
  int64_t resize = 0;                  // side of the images after resizing; 0: as they are
  bool augment = false;                // random crops and flips of training images
};

struct TrainingConfig {
  int64_t batch = 32;  // rows of the global batch
  int64_t epochs = 0;  // passes over the rows; 0: as many as `steps` take, or 1 without
  int64_t steps = 0;   // of the whole training; 0: those of the epochs. With both the lesser number counts
  Loss loss = Loss::sparse;
  std::optional<int64_t> ignore_index{};            // labels of this class count for nothing
  DType dtype = DType::f32;                         // of parameters and activations
  uint64_t seed = 1;                                // of initial values, the order of rows and dropout
  std::optional<BatchNormStatistics> batch_norm{};  // none: local under data parallelism on several ranks
  GradientReduction gradients = GradientReduction::mean;
  MicroLoss micro_loss = MicroLoss::mean;
  bool validate = false;              // on the test rows after every epoch
  std::optional<int64_t> patience{};  // epochs without a lower loss before the training ends; none: it goes on
  bool evaluate = true;               // on the test rows after the training
};

struct EvaluationConfig {
  int64_t batch = 0;  // most rows of a batch; 0: a micro-batch's, or more where they fit
  int64_t top = 5;    // labels among so many of the largest logits are counted, too
};

struct RanksConfig {
  int count = 0;    // 0: as many as a launcher started, or 1
  int threads = 0;  // compute threads of each; 0: an even share of the cores
  KernelSet kernels = KernelSet::fast;
};

struct PlanConfig {
  std::string file{};                // of a saved plan; planner/plan_file/plan_file.h reads it into the rest
  std::optional<GivenPlan> given{};  // its cuts
  PlanOptions options{};
  Recompute recompute = Recompute::none;           // in the backward
  std::vector<RecomputeMark> recompute_layers{};   // in the backward, whatever `recompute` says of others
  std::vector<NodeAnnotation> annotations{};       // in addition to those in the code of the network
  std::vector<std::string> passes_switched_off{};  // by name
};

/// FilesConfig::resume for the newest checkpoint of FilesConfig::checkpoint, where it has one.
inline constexpr std::string_view kLatestCheckpoint = "latest";

struct FilesConfig {
  std::string load{}, save{};            // weights
  std::string checkpoint{};              // a folder: whole trainings, one behind the other
  int64_t checkpoint_every = 0;          // steps; 0: at the end alone
  double checkpoint_seconds = 0;         // 0: as steps say
  int64_t checkpoint_keep = 5;           // the newest that stay; 0: all
  Switch checkpoint_async = Switch::on;  // steps go on while one is written
  bool checkpoint_integrated = false;    // whole tensors, written by the first rank
  CheckpointErrors checkpoint_errors = CheckpointErrors::warn;
  std::string resume{};                    // a checkpoint, a folder of them, or "latest"
  std::vector<std::string> resume_with{};  // keys that may differ from those of the checkpoint
  std::string log{};                       // one JSON line per step
  std::string trace{};                     // what each rank did when, in the first steps
  int64_t trace_steps = 3;
  std::string cluster = "cpu";  // preset or file: the machine of which a trace predicts steps
  std::string dump{};           // a folder for what every stage made
  std::string log_dir{};        // a folder for what each process prints
  std::string flight_record{};  // a folder for the last calls of each rank
};

struct ConsoleConfig {
  ConsoleRanks ranks = ConsoleRanks::first;
  std::optional<int64_t> per_print_times{};  // steps between two printed losses; none: a progress line on a terminal
  bool quiet = false, verbose = false;
};

struct JobConfig {
  std::string model{};  // "gpt:layers=4,hidden=128"; "" for a network of the program's own
  DataConfig data{};
  TrainingConfig training{};
  OptimizerOptions optimizer{};
  LrSchedule schedule{};  // steps 0: those of the training
  EvaluationConfig evaluation{};
  RanksConfig ranks{};
  PlanConfig plan{};
  FilesConfig files{};
  ConsoleConfig console{};
  bool force = false;  // although the estimate says that the memory is too small
};

/// `config` with everything decided that it leaves open: ranks, threads, statistics, the batch of an evaluation. Throws
/// InvalidArgument for ranks and threads that are not to be had, and for a learning rate that makes no sense.
JobConfig completed(JobConfig config, const Place& place);

/// The steps of a training: TrainingConfig::steps and ::epochs, with so many steps an epoch.
int64_t training_steps(int64_t epochs, int64_t steps, int64_t steps_per_epoch);

/// Whether ranks differ in nothing but their rows, and in the parameters that are split layerwise: data and hybrid.
bool cuts_batch_alone(const JobConfig& config);

/// Throws InvalidArgument when the parts of a completed configuration make no training here, with the nearest legal
/// choice: more ranks than threads of one process may be, a batch that does not divide, options that would have no
/// effect.
void verify_training(const JobConfig& config, const Place& place);

}  // namespace partita
