#pragma once
// The configuration of everything that runs a network: what is trained, how, on which ranks, and what is written.
// Commands, configuration files, benchmarks and users' programs fill the same struct. docs/reference/configuration.md
// lists its keys and flags.

#include "compiler/autodiff/optimizer_options.h"
#include "compiler/autodiff/precision.h"
#include "compiler/search/given_plan.h"
#include "compiler/search/plan_options.h"
#include "frontend/data/source.h"
#include "frontend/network/loss_options.h"
#include "ir/graph/node_annotation.h"
#include "ir/kernels/kernel_set.h"
#include "job/accelerator_modes.h"
#include "job/lr_schedule.h"
#include "job/recompute_annotations.h"
#include "runtime/device/device_memory.h"

namespace partita {

struct Place;

/// Rows whose batch norm statistics are shared: each rank's rows of a micro-batch, or the rows of the global batch.
enum class BatchNormStatistics { local, global };
constexpr auto value_names(BatchNormStatistics) { return names("local", "global"); }

/// How gradients of ranks are combined: the mean over the global batch, or the sum of the ranks' means. The guarantee
/// that plans give equal numbers does not cover `sum`.
enum class GradientReduction { mean, sum };
constexpr auto value_names(GradientReduction) { return names("mean", "sum"); }

/// How gradients of micro-batches are combined: the mean over the global batch, or the sum of the micro-batches' means.
/// The guarantee that plans give equal numbers does not cover `sum`.
enum class MicroLoss { mean, sum };
constexpr auto value_names(MicroLoss) { return names("mean", "sum"); }

/// How the loss is scaled before it is differentiated, so that small gradients are not rounded to 0. automatic: static
/// with a loss scale, else dynamic with f16, else off.
enum class LossScaling { automatic, off, fixed, dynamic };
constexpr auto value_names(LossScaling) { return names("auto", "off", "static", "dynamic"); }

/// Reactions to a step whose loss or gradients are not finite and which updates nothing: an error, or the next step.
enum class OnNan { stop, skip };
constexpr auto value_names(OnNan) { return names("stop", "skip"); }

/// Ranks that print when ranks are processes.
enum class ConsoleRanks { first, all };
constexpr auto value_names(ConsoleRanks) { return names("first", "all"); }

enum class Switch { off, on };
constexpr auto value_names(Switch) { return names("off", "on"); }

/// Whether a training continues or ends when a checkpoint cannot be written.
enum class CheckpointErrors { warn, stop };
constexpr auto value_names(CheckpointErrors) { return names("warn", "stop"); }

struct DataConfig {
  std::optional<DataSource> source{};  // none: the model's own rows, or generated rows
  int64_t resize = 0;                  // side of the images after resizing; 0: not resized
  bool augment = false;                // random crops and flips of training images
  bool separate_documents = false;     // attention and positions of tokens stop at the ends of documents
};

struct TrainingConfig {
  int64_t batch = 32;  // rows of the global batch
  int64_t epochs = 0;  // passes over the rows; 0: as many as `steps` take, or 1 if `steps` is 0
  int64_t steps = 0;   // steps of the whole training; 0: those of the epochs. With both, the smaller number applies
  Loss loss = Loss::sparse;
  std::optional<int64_t> ignore_index{};           // class whose labels are left out of losses and metrics
  DType dtype = DType::f32;                        // type of parameters and activations
  MixedPrecision precision = MixedPrecision::f32;  // type of products and what follows; f32: that of `dtype`
  std::vector<std::string> precision_of{};         // layers with a precision of their own: "net/head=f32"
  Residual residual = Residual::half;              // digits of sums of activations and of their gradients
  ReduceDType reduce_dtype = ReduceDType::f32;     // type in which sums of gradients over ranks are sent
  LossScaling loss_scaling = LossScaling::automatic;
  std::optional<double> loss_scale{};  // static scale, or the first dynamic one; none: 65536
  int64_t loss_scale_window = 2000;    // good steps in a row after which a dynamic scale grows
  double loss_scale_factor = 2;        // by which a dynamic scale grows and, after a bad step, shrinks
  OnNan on_nan = OnNan::stop;
  uint64_t seed = 1;                                // seed of initial values, the order of rows and dropout
  std::optional<BatchNormStatistics> batch_norm{};  // none: local if ranks or micro-batches split the batch
  GradientReduction gradients = GradientReduction::mean;
  MicroLoss micro_loss = MicroLoss::mean;
  bool validate = false;              // evaluation on the test rows after every epoch
  int64_t validate_every = 0;         // steps between two evaluations on the test rows; 0: none
  std::optional<int64_t> patience{};  // epochs or validations that may pass without a better value; none: no limit
  bool evaluate = true;               // evaluation on the test rows after the training
};

struct EvaluationConfig {
  int64_t batch = 0;  // maximum rows of a batch; 0: those of a micro-batch, or more if they fit in memory
  int64_t top = 5;    // k of the top-k accuracy
  std::vector<std::string> metrics{};  // names of further metrics (training/report/row_metrics.h)
};

struct RanksConfig {
  int count = 0;    // 0: as many as a launcher started, or 1
  int threads = 0;  // compute threads of each rank; 0: an equal share of the cores
  KernelSet kernels = KernelSet::fast;
  std::string device = "cpu";  // device of each rank: "cpu", or an accelerator (runtime/device/xla/accelerator.h)
  CollectiveChoice collectives = CollectiveChoice::automatic;  // communication of accelerators
  AttentionChoice attention = AttentionChoice::automatic;      // how GPUs of NVIDIA compute it
  bool deterministic = false;                                  // whether accelerators repeat their bits, as CPUs do
  double device_memory = kDeviceMemory;  // share of the memory that GPUs of cuda and rocm take, at most
};

struct PlanConfig {
  std::string file{};  // path of a saved plan; planner/plan_file/plan_file.h reads it into the other fields
  std::optional<GivenPlan> given{};  // contents of the saved plan
  PlanOptions options{};
  Recompute recompute = Recompute::none;                // policy of layers that `recompute_layers` does not name
  std::vector<RecomputeAnnotation> recompute_layers{};  // policies of single layers
  std::vector<NodeAnnotation> annotations{};            // annotations in addition to those in the network's code
  std::vector<std::string> passes_switched_off{};       // names of passes
};

/// Value of FilesConfig::resume that selects the newest checkpoint in FilesConfig::checkpoint, if there is one.
inline constexpr std::string_view kLatestCheckpoint = "latest";

struct FilesConfig {
  std::string load{}, save{};            // files of weights
  bool load_is_recipe = false;           // whether the model brings `load` along, which a resumed training leaves out
  std::string adapters{};                // file of additions to products (LoRA), to load with the weights of `load`
  bool load_averages = false;            // load the averages of a checkpoint (OptimizerOptions::ema) as weights
  bool save_averages = false;            // save the averages as weights
  std::string checkpoint{};              // folder of checkpoints, each of a whole training
  int64_t checkpoint_every = 0;          // steps between two checkpoints; 0: only at the end
  double checkpoint_seconds = 0;         // seconds between two checkpoints; 0: no limit
  int64_t checkpoint_keep = 5;           // number of newest checkpoints that are kept; 0: all
  std::string keep_best{};               // metric of validations whose best checkpoint is kept, too; "": none
  bool restore_best = false;             // the training ends with the weights of the best checkpoint
  Switch checkpoint_async = Switch::on;  // whether steps continue while a checkpoint is written
  bool checkpoint_integrated = false;    // whole tensors, written by the first rank
  CheckpointErrors checkpoint_errors = CheckpointErrors::warn;
  std::string resume{};                    // a checkpoint, a folder of checkpoints, or "latest"
  std::vector<std::string> resume_with{};  // keys that may differ from those of the checkpoint
  std::string log{};                       // file of one JSON line per step
  std::string run{};                       // folder that records the training (training/report/run_folder.h)
  std::string tensorboard{};               // folder of event files for TensorBoard
  std::string trace{};                     // file of the timeline of each rank in the first steps
  int64_t trace_steps = 3;
  std::string cluster = "cpu";  // preset or file; the machine for which a trace predicts steps
  std::string dump{};           // folder for the output of every compiler stage
  std::string log_dir{};        // folder for what each process prints
  std::string flight_record{};  // folder for the last calls of each rank
};

struct ConsoleConfig {
  ConsoleRanks ranks = ConsoleRanks::first;
  std::optional<int64_t> per_print_times{};  // steps between two printed losses; none: a progress line on a terminal
  bool quiet = false, verbose = false;
};

struct JobConfig {
  std::string model{};  // "gpt:layers=4,hidden=128"; "" for a network defined by the program
  DataConfig data{};
  TrainingConfig training{};
  OptimizerOptions optimizer{};
  LrSchedule schedule{};  // steps 0: those of the training
  EvaluationConfig evaluation{};
  RanksConfig ranks{};
  PlanConfig plan{};
  FilesConfig files{};
  ConsoleConfig console{};
  bool force = false;  // starts even if the estimated memory does not fit
};

/// Returns `config` with ranks, threads and batch norm statistics chosen where it leaves them open. Throws
/// InvalidArgument for a value that its option does not take, if a launcher started another number of ranks or `place`
/// does not allow as many threads, if a saved plan was named but not read or is for another number of ranks, if block
/// cuts do not divide the ranks, for a bad learning rate or warm-up, and for `quiet` along with `verbose`.
JobConfig completed(JobConfig config, const Place& place);

/// Returns the number of steps of a training that is limited by TrainingConfig::epochs and ::steps, the smaller one.
/// `steps_per_epoch` is the number of steps in an epoch. A limit of 0 is none; without both it is one epoch.
int64_t training_steps(int64_t epochs, int64_t steps, int64_t steps_per_epoch);

/// Whether there are several ranks and the mode is data or hybrid: the ranks of a stage then split nothing but the rows
/// of a batch. Parameters may still be split layerwise.
bool cuts_batch_alone(const JobConfig& config);

/// Checks that the parts of a completed configuration fit together. Throws InvalidArgument, with the nearest legal
/// choice, if there are more ranks than one process can run as threads, if the batch does not divide into micro-batches
/// or, in the mode data, among the ranks, and for options that would have no effect.
void verify_training(const JobConfig& config, const Place& place);

}  // namespace partita
