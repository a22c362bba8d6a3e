#include "job/options.h"

#include <algorithm>
#include <limits>

#include "frontend/data/dataset.h"
#include "ir/graph/graph.h"
#include "job/optimizer_numbers.h"
#include "job/option_text.h"

namespace partita {
namespace {

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

template <class T>
struct Inner {
  using type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using type = T;
};
template <class T>
struct Inner<std::vector<T>> {
  using type = T;
};

template <class T>
JobOption::Form form_of() {
  using Value = typename Inner<T>::type;
  if constexpr (is_list<T>) return JobOption::Form::list;
  if constexpr (std::is_same_v<Value, bool>) return JobOption::Form::boolean;
  if constexpr (std::is_arithmetic_v<Value>) return JobOption::Form::number;
  return JobOption::Form::text;
}

/// Returns the placeholder of a value of type T in help: "off|on" for names, "NUMBER", "COUNT", "TEXT", "" for a
/// switch.
template <class T>
std::string value_name() {
  using Value = typename Inner<T>::type;
  if constexpr (Named<Value>) {
    std::string text;
    for (const std::string_view name : kNames<Value>) text += fmt::format("{}{}", text.empty() ? "" : "|", name);
    return text;
  } else if constexpr (std::is_same_v<Value, bool>) {
    return "";
  } else if constexpr (std::is_floating_point_v<Value>) {
    return "NUMBER";
  } else if constexpr (std::is_integral_v<Value>) {
    return "COUNT";
  } else {
    return "TEXT";
  }
}

/// Whether an optional has no value or a text is empty: no file has an empty name. False for other types.
template <class T>
bool is_unset(const T& value) {
  if constexpr (is_optional<T>) return !value.has_value();
  if constexpr (std::is_same_v<T, std::string>) return value.empty();
  return false;
}

template <class T>
std::vector<std::string> texts_of(const T& value) {
  if (is_unset(value)) return {};
  if constexpr (is_list<T>) {
    std::vector<std::string> texts;
    for (const auto& item : value) texts.push_back(print_option(item));
    return texts;
  } else if constexpr (is_optional<T>) {
    return {print_option(*value)};
  } else {
    return {print_option(value)};
  }
}

template <class T>
void take_texts(T& value, std::string_view where, const std::vector<std::string>& texts, const Limits& limits) {
  if constexpr (is_list<T>) {
    value.clear();
    for (const std::string& text : texts) read_option(where, text, limits, value.emplace_back());
  } else {
    require_one(where, texts);
    read_option(where, texts[0], limits, value);
  }
}

constexpr int64_t kMaxPlannedRanks = int64_t{1} << 20;  // only for planning; running checks the real limit

/// Collects options, section by section.
class List {
 public:
  std::vector<JobOption> take() { return std::move(options_); }
  void section(OptionSection section) { section_ = section; }

  /// Adds an option.
  void add(JobOption option) { options_.push_back(std::move(option)); }
  /// Adds an option of the current section and returns it, for more to be set. `access` returns the field of a
  /// configuration, const or not. The reference is valid until the next option is added.
  template <class Access>
  JobOption& add(std::string name, std::string flag, Effect effect, Access access, std::string help,
                 Limits limits = {}) {
    using T = std::remove_cvref_t<decltype(access(std::declval<JobConfig&>()))>;
    JobOption& option = options_.emplace_back();
    option.section = section_;
    option.name = std::move(name);
    option.flag = std::move(flag);
    option.value = value_name<T>();
    option.help = std::move(help);
    option.effect = effect;
    option.form = form_of<T>();
    option.get = [access](const JobConfig& config) { return texts_of(access(config)); };
    option.set = [access, limits](JobConfig& config, std::string_view where, const std::vector<std::string>& texts) {
      take_texts(access(config), where, texts, limits);
    };
    return option;
  }

 private:
  std::vector<JobOption> options_;
  OptionSection section_ = OptionSection::job;
};

// Accessor of a configuration field, for const and non-const configurations.
#define PARTITA_FIELD(path) \
  [](auto& config) -> auto& { return config.path; }

void add_job(List& list) {
  list.section(OptionSection::job);
  list.add("model", "", Effect::program, PARTITA_FIELD(model), "A network with its sizes").value = "MODEL";
  list.add("force", "force", Effect::console, PARTITA_FIELD(force),
           "Start even if the estimate says that the memory is too small");
}

void add_data(List& list) {
  list.section(OptionSection::data);
  JobOption& source = list.add("source", "data", Effect::files, PARTITA_FIELD(data.source),
                               "mnist:DIR, cifar10:DIR, images:DIR, text:FILE, tokens:FILE[,TEST], csv:FILE[,TEST], "
                               "npz:FILE[,TEST], npy:INPUTS,LABELS, synthetic, or a folder or file of one of these");
  source.value = "SOURCE";
  source.synonyms = {"dataset", "data-dir", "data-path", "input"};
  list.add("resize", "resize", Effect::program, PARTITA_FIELD(data.resize), "Side of the images after resizing",
           {0, 4096});
  list.add("augment", "augment", Effect::program, PARTITA_FIELD(data.augment),
           "Crop and flip training images at random");
  list.add("separate_documents", "separate-documents", Effect::program, PARTITA_FIELD(data.separate_documents),
           "Attention and positions stop at the ends of documents of tokens");
}

/// Adds the types of numbers, with what keeps small ones from being lost. Belongs to the options of the training.
void add_precision(List& list) {
  list.add("dtype", "dtype", Effect::program, PARTITA_FIELD(training.dtype), "Type of parameters and activations")
      .value = "f32|f64";
  list.add("precision", "precision", Effect::placement, PARTITA_FIELD(training.precision),
           "Bits of products and what follows from them; parameters, sums, losses and updates have those of --dtype")
      .synonyms = {"mixed-precision", "amp"};
  list.add("precision_of", "precision-of", Effect::placement, PARTITA_FIELD(training.precision_of),
           "Precision of layers, named by their path, for example 'net/h/0..5=f32'; the longest path counts")
      .value = "LAYERS=f32|bf16|f16";
  list.add("residual", "residual", Effect::placement, PARTITA_FIELD(training.residual),
           "Digits of the residual stream, the sums of activations and of their gradients: those of --precision (half) "
           "or of the parameters (f32)");
  list.add("reduce_dtype", "reduce-dtype", Effect::placement, PARTITA_FIELD(training.reduce_dtype),
           "Type in which sums of parameters' gradients over ranks are sent: their own, or bf16, rounded once per rank "
           "and once after the addition in f32")
      .synonyms = {"grad-reduce-dtype", "grad-comm-dtype"};
  list.add("loss_scaling", "loss-scaling", Effect::placement, PARTITA_FIELD(training.loss_scaling),
           "Scale of the loss while it is differentiated; auto: static with --loss-scale, dynamic with f16, else off")
      .synonyms = {"grad-scaler", "scaler"};
  list.add("loss_scale", "loss-scale", Effect::placement, PARTITA_FIELD(training.loss_scale),
           "Static scale of the loss, or the first dynamic one (65536)", {1, static_cast<double>(kLargestNumber)})
      .synonyms = {"initial-loss-scale", "init-scale"};
  list.add("loss_scale_window", "loss-scale-window", Effect::placement, PARTITA_FIELD(training.loss_scale_window),
           "Good steps in a row after which a dynamic scale grows", {1, static_cast<double>(kLargestNumber)})
      .synonyms = {"growth-interval"};
  list.add("loss_scale_factor", "loss-scale-factor", Effect::placement, PARTITA_FIELD(training.loss_scale_factor),
           "By which a dynamic scale grows, and shrinks after a step that is not finite", {1.001, 65536});
  list.add("on_nan", "on-nan", Effect::placement, PARTITA_FIELD(training.on_nan),
           "What follows a step whose loss or gradients are not finite: an error, or the next step");
}

void add_training(List& list) {
  list.section(OptionSection::training);
  list.add("batch", "batch", Effect::program, PARTITA_FIELD(training.batch), "Rows of the global batch",
           {1, static_cast<double>(kLargestNumber)})
      .synonyms = {"batch-size", "global-batch-size", "bs", "b"};
  list.add("epochs", "epochs", Effect::length, PARTITA_FIELD(training.epochs),
           "Passes over the training rows; 0: as many as --steps needs", {0, 1'000'000})
      .synonyms = {"epoch", "num-epochs", "max-epochs"};
  list.add("steps", "steps", Effect::length, PARTITA_FIELD(training.steps),
           "Steps of the whole training, instead of the model's epochs; 0: those of the epochs. If --epochs is given "
           "too, the smaller number counts")
      .synonyms = {"max-steps", "num-steps", "iterations", "train-iters"};
  list.add("loss", "loss", Effect::program, PARTITA_FIELD(training.loss),
           "Cross entropy with class labels (sparse), with one number per class (dense), from elementary ops "
           "(expanded), or for each class separately (binary); mean squared or absolute error");
  list.add("ignore_index", "ignore-index", Effect::program, PARTITA_FIELD(training.ignore_index),
           "Ignore rows with this label: losses and metrics are means over the other rows",
           {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()});
  add_precision(list);
  list.add("seed", "seed", Effect::program, PARTITA_FIELD(training.seed),
           "Seed of initial values, the order of rows and dropout");
  list.add("batch_norm", "batch-norm", Effect::placement, PARTITA_FIELD(training.batch_norm),
           "Whether statistics are over the rows of each rank or of the global batch; local under data parallelism");
  list.add("gradients", "gradients", Effect::program, PARTITA_FIELD(training.gradients),
           "Gradient that the update gets: the mean over the global batch, or the sum of the ranks' means");
  list.add("micro_loss", "micro-loss", Effect::program, PARTITA_FIELD(training.micro_loss),
           "Sum of the gradients of micro-batches: the mean over the global batch, or the sum of the means of all "
           "micro-batches");
  list.add("validate", "validate", Effect::length, PARTITA_FIELD(training.validate), "Test after every epoch");
  list.add("validate_every", "validate-every", Effect::length, PARTITA_FIELD(training.validate_every),
           "Test after each COUNT steps; 0: never")
      .synonyms = {"eval-interval", "eval-every", "eval-steps", "val-check-interval"};
  list.add(
      "patience", "patience", Effect::length, PARTITA_FIELD(training.patience),
      "Stop after more than this many epochs (with --validate-every, tests) without a lower loss (when tested, test "
      "loss; with --keep-best, without a better value of what it names)");
  list.add("evaluate", "eval", Effect::length, PARTITA_FIELD(training.evaluate),
           "Test after the training; --no-eval skips it");
}

void add_optimizer(List& list) {
  list.section(OptionSection::optimizer);
  list.add(optimizer_option());
  list.add("weight_decay", "weight-decay", Effect::program, PARTITA_FIELD(optimizer.weight_decay),
           "Share of each parameter that a step subtracts, times the learning rate", {0, 1})
      .synonyms = {"wd", "l2"};
  list.add("decay_vectors", "decay-vectors", Effect::program, PARTITA_FIELD(optimizer.decay_vectors),
           "Also apply weight decay to biases and scales");
  list.add("no_decay", "no-decay", Effect::program, PARTITA_FIELD(optimizer.no_decay),
           "Apply no weight decay to parameters whose names contain this")
      .value = "NAME";
  list.add("rate_of", "rate-of", Effect::program, PARTITA_FIELD(optimizer.rate_of),
           "Factor of the learning rate of parameters that a pattern names, for example 'h.0.*=0.1'; the last one "
           "counts")
      .value = "PARAMETERS=FACTOR";
  list.add("clip_norm", "clip-norm", Effect::program, PARTITA_FIELD(optimizer.clip_norm),
           "Scale all gradients down if their norm, taken as one vector, is larger than this; 0: never")
      .synonyms = {"clip", "clip-grad", "grad-clip", "max-grad-norm", "gradient-clipping"};
  list.add("ema", "ema", Effect::program, PARTITA_FIELD(optimizer.ema),
           "Keep an exponential moving average of the parameters, which keeps this share of itself in a step; "
           "evaluations use it. 0: none",
           {0, 0.9999999})
      .synonyms = {"ema-decay", "model-ema", "model-ema-decay"};
  for (JobOption& number : optimizer_number_options()) list.add(std::move(number));
}

void add_schedule(List& list) {
  list.section(OptionSection::schedule);
  constexpr double kLargestRate = 1e300;  // the type's own limit (f32) is checked when the type is known
  list.add("learning_rate", "lr", Effect::program, PARTITA_FIELD(schedule.learning_rate), "Learning rate",
           {0, kLargestRate})
      .synonyms = {"learning-rate", "learningrate"};
  list.add("kind", "lr-schedule", Effect::program, PARTITA_FIELD(schedule.kind), "How the learning rate changes")
      .synonyms = {"scheduler", "lr-decay-style", "lr-scheduler"};
  list.add("warmup_steps", "warmup-steps", Effect::program, PARTITA_FIELD(schedule.warmup_steps),
           "Steps over which the learning rate rises linearly")
      .synonyms = {"warmup", "lr-warmup-iters", "warmup-iters"};
  list.add("steps", "schedule-steps", Effect::program, PARTITA_FIELD(schedule.steps),
           "Step at which a falling learning rate reaches zero; 0: the last step of the training");
  list.add("step_every", "lr-step-every", Effect::program, PARTITA_FIELD(schedule.step_every),
           "Steps between two drops of the schedule 'step'; 0: a third of the training");
  list.add("step_factor", "lr-step-factor", Effect::program, PARTITA_FIELD(schedule.step_factor), "Factor of each drop",
           {0, 1});
  list.add("polynomial_power", "lr-power", Effect::program, PARTITA_FIELD(schedule.power),
           "Power of the share of steps that are left, of the schedule 'polynomial'", {0, 100});
  list.add("final_rate", "lr-final", Effect::program, PARTITA_FIELD(schedule.final_rate),
           "Learning rate at the end of the schedule 'polynomial'", {0, kLargestRate})
      .synonyms = {"min-lr", "lr-end"};
}

void add_evaluation(List& list) {
  list.section(OptionSection::evaluation);
  list.add("batch", "eval-batch", Effect::placement, PARTITA_FIELD(evaluation.batch),
           "Maximum number of rows of a batch of an evaluation; 0: those of a micro-batch of the training, or up to "
           "256 if these need no more memory");
  list.add("top", "top-k", Effect::length, PARTITA_FIELD(evaluation.top),
           "Also count labels among the K likeliest classes", {1, static_cast<double>(kLargestNumber)})
      .value = "K";
  list.add("metrics", "metrics", Effect::length, PARTITA_FIELD(evaluation.metrics),
           "Also measure, with commas between them: mae, mse, r2, perplexity, top_k_accuracy, and f1, precision or "
           "recall "
           "followed by _macro, _micro or _binary")
      .value = "NAMES";
}

void add_ranks(List& list) {
  list.section(OptionSection::ranks);
  list.add("count", "ranks", Effect::placement, PARTITA_FIELD(ranks.count),
           "Number of ranks. Threads of this process, or the processes that mpirun or srun started; 0: automatic",
           {0, kMaxPlannedRanks})
      .synonyms = {"world-size", "gpus", "devices", "device-num", "nproc", "np", "workers", "num-workers"};
  list.add("threads", "threads", Effect::placement, PARTITA_FIELD(ranks.threads),
           "Compute threads of each rank; 0: an even share of the cores")
      .synonyms = {"num-threads", "omp-threads"};
  list.add("kernels", "kernels", Effect::placement, PARTITA_FIELD(ranks.kernels),
           "The fastest kernels, or the plain loops that define the results");
  list.add("device", "device", Effect::placement, PARTITA_FIELD(ranks.device),
           "The device of each rank: cpu, or an accelerator with a PJRT plugin: xla:cpu, cuda, rocm, oneapi, tpu, or "
           "one of several, as cuda:0")
      .value = "NAME";
  list.add(
      "collectives", "collectives", Effect::placement, PARTITA_FIELD(ranks.collectives),
      "Where programs of accelerators communicate. cut: the host, between programs; whole: the devices, in programs "
      "that ranks with a device each start together; auto: whole where it is proven on such hardware, else cut");
  list.add("attention", "attention", Effect::placement, PARTITA_FIELD(ranks.attention),
           "How attention is computed on GPUs of NVIDIA. composed: by products and a softmax; fused: by cuDNN from 16 "
           "bits, which has not run yet; auto: fused where it is proven on such hardware, else composed");
  list.add("device_memory", "device-memory", Effect::placement, PARTITA_FIELD(ranks.device_memory),
           "Share of the memory of a GPU (cuda, rocm) that a process takes, at most", {0.01, 1});
  list.add("deterministic", "deterministic", Effect::placement, PARTITA_FIELD(ranks.deterministic),
           "GPUs give the same bits in every run, which takes longer; CPUs always do");
}

void add_plan(List& list) {
  list.section(OptionSection::plan);
  list.add("file", "plan", Effect::files, PARTITA_FIELD(plan.file),
           "Run the plan in this file, written by partita plan --out or edited by hand; auto: search the best plan for "
           "these ranks; auto:CLUSTER: search as if they were ranks of this cluster")
      .value = "FILE";
  list.add("parallel", "parallel", Effect::placement, PARTITA_FIELD(plan.options.parallel),
           "data: the batch is cut; hybrid: the batch is cut, also unevenly; semi: annotations are binding, other ops "
           "cut the batch; auto: annotations are propagated; none: every rank computes everything")
      .synonyms = {"parallel-mode", "strategy"};
  list.add("search", "search", Effect::placement, PARTITA_FIELD(plan.options.search), "How auto finds a plan");
  JobOption& dataset =
      list.add("dataset_strategy", "dataset-strategy", Effect::placement, PARTITA_FIELD(plan.options.dataset),
               "How inputs are cut under semi and auto: data_parallel, full_batch or parts as in ((2,4),(8))");
  dataset.value = "STRATEGY";
  list.add("uneven", "uneven", Effect::placement, PARTITA_FIELD(plan.options.uneven),
           "Whether dimensions that do not divide are cut into parts that differ by one, or refused");
}

void add_pipeline(List& list) {
  list.add("micro_batches", "micro-batches", Effect::placement, PARTITA_FIELD(plan.options.micro_batches),
           "Slices of the global batch that run one after another with their gradients added: less memory, the same "
           "update",
           {1, kMaxMicroBatches})
      .synonyms = {"gradient-accumulation-steps", "accumulation-steps", "grad-accum", "num-microbatches"};
  list.add("stages", "stages", Effect::placement, PARTITA_FIELD(plan.options.pipeline.stages),
           "Pipeline stages, each of one node or more on its own ranks; 0: as the layers say; 1: none", {0, kMaxStages})
      .synonyms = {"pipeline-stages", "pipeline-model-parallel-size", "pp"};
  JobOption& stage =
      list.add("stage", "stage", Effect::placement, PARTITA_FIELD(plan.options.pipeline.stage_annotations),
               "Stage of layers, named by their path: LAYERS=STAGE, for example 'net/h/0..5=0'");
  stage.value = "LAYERS=STAGE";
  list.add("order", "order", Effect::placement, PARTITA_FIELD(plan.options.pipeline.order),
           "Order of micro-batches on a stage. gpipe: all forwards first; 1f1b: one forward, one backward; "
           "interleaved: 1f1b over several stages of each rank; zero_bubble: gradients of weights fill the gaps")
      .synonyms = {"pipeline-schedule", "pipeline-scheduler"};
  list.add("interleave", "interleave", Effect::placement, PARTITA_FIELD(plan.options.pipeline.interleave),
           "Number of stages per group of ranks", {1, kMaxStages})
      .synonyms = {"num-layers-per-virtual-pipeline-stage", "virtual-stages"};
}

void add_memory(List& list) {
  list.add("recompute", "recompute", Effect::placement, PARTITA_FIELD(plan.recompute),
           "Activations that the backward pass recomputes instead of keeping them: those of attention (selective), or "
           "all "
           "within blocks (full)")
      .synonyms = {"recompute-granularity", "gradient-checkpointing", "activation-checkpointing"};
  JobOption& recomputed =
      list.add("recompute_layers", "recompute-layers", Effect::placement, PARTITA_FIELD(plan.recompute_layers),
               "Recomputation of layers, named by their path: selective or full, for example 'net/h/0..5=full'");
  recomputed.value = "LAYERS=POLICY";
  list.add("zero", "zero", Effect::placement, PARTITA_FIELD(plan.options.zero.level),
           "Optimizer sharding over the ranks that share the batch. 1: states of the optimizer; 2: also gradients; 3: "
           "also parameters",
           {0, 3})
      .synonyms = {"zero-stage", "optimizer-parallel", "fsdp"};
  list.add("zero_group", "zero-group", Effect::placement, PARTITA_FIELD(plan.options.zero.group),
           "Number of ranks that one copy is divided among; 0: all that share the batch", {0, kMaxPlannedRanks});
  list.add("zero_threshold", "zero-threshold", Effect::placement, PARTITA_FIELD(plan.options.zero.threshold),
           "Keep parameters below this size (bytes) whole", {0, int64_t{1} << 40})
      .value = "BYTES";
}

void add_cuts(List& list) {
  list.add("tensor_parallel", "tensor-parallel", Effect::placement, PARTITA_FIELD(plan.options.blocks.tensor),
           "Ranks over which auto cuts the products of transformer blocks, by columns, then by rows; the other ranks "
           "cut the batch",
           {1, kMaxPlannedRanks})
      .synonyms = {"tensor-model-parallel-size", "tp"};
  list.add(
          "context_parallel", "context-parallel", Effect::placement, PARTITA_FIELD(plan.options.blocks.context),
          "Ranks over which auto cuts the sequence of transformer blocks throughout; attention gathers keys and values",
          {1, kMaxPlannedRanks})
      .synonyms = {"context-parallel-size", "cp"};
  list.add("sequence_parallel", "sequence-parallel", Effect::placement, PARTITA_FIELD(plan.options.blocks.sequence),
           "With --tensor-parallel: cut the activations between the products along the sequence, over the same ranks");
  JobOption& shard = list.add(
      "shard", "shard", Effect::placement, PARTITA_FIELD(plan.annotations),
      "Sharding annotation of nodes, each named once: NODES=STRATEGY, for example 'net/fc1/matmul=((2,4),(1,4))'");
  shard.value = "NODES=STRATEGY";
  list.add("no_pass", "no-pass", Effect::placement, PARTITA_FIELD(plan.passes_switched_off),
           "Skip a pass of the compiler, by name: partial_sums, shard_optimizer, fold_casts, pack_reductions, "
           "overlap_collectives")
      .value = "NAME";
}

void add_checkpoints(List& list) {
  list.add("checkpoint", "checkpoint", Effect::files, PARTITA_FIELD(files.checkpoint),
           "Save the whole training to this folder at the end, and as often as the next two flags say")
      .value = "DIR";
  list.add("checkpoint_every", "checkpoint-every", Effect::files, PARTITA_FIELD(files.checkpoint_every),
           "Steps between two checkpoints; 0: save at the end only")
      .synonyms = {"save-interval", "save-steps", "save-checkpoint-steps"};
  list.add("checkpoint_seconds", "checkpoint-seconds", Effect::files, PARTITA_FIELD(files.checkpoint_seconds),
           "Seconds after which the next checkpoint is saved; 0: never", {0, 1e9})
      .synonyms = {"save-checkpoint-seconds"};
  list.add("checkpoint_keep", "keep", Effect::files, PARTITA_FIELD(files.checkpoint_keep),
           "Number of newest checkpoints to keep; 0: all")
      .synonyms = {"keep-checkpoint-max", "save-total-limit", "keep-last"};
  list.add("keep_best", "keep-best", Effect::files, PARTITA_FIELD(files.keep_best),
           "Also save and keep the checkpoint of the test with the best value of this: loss, accuracy or one of "
           "--metrics")
      .value = "METRIC";
  list.add("restore_best", "restore-best", Effect::files, PARTITA_FIELD(files.restore_best),
           "End with the weights of the best checkpoint")
      .synonyms = {"load-best-model-at-end"};
  list.add("checkpoint_async", "checkpoint-async", Effect::files, PARTITA_FIELD(files.checkpoint_async),
           "Continue with the steps while a copy of the states is written")
      .synonyms = {"async-save"};
  list.add("checkpoint_integrated", "integrated-save", Effect::files, PARTITA_FIELD(files.checkpoint_integrated),
           "Let the first rank gather and write whole tensors, instead of each rank writing its own part");
  list.add("checkpoint_errors", "checkpoint-errors", Effect::files, PARTITA_FIELD(files.checkpoint_errors),
           "Whether the training continues or ends if a checkpoint cannot be written");
  list.add("resume", "resume", Effect::files, PARTITA_FIELD(files.resume),
           "Continue from this checkpoint, from the newest in a folder, or (latest) from the newest in --checkpoint if "
           "there is one")
      .value = "DIR|FILE|latest";
}

void add_files(List& list) {
  list.section(OptionSection::files);
  const auto file = [&](JobOption& option) -> JobOption& {
    option.value = "FILE";
    return option;
  };
  file(list.add("load", "load", Effect::files, PARTITA_FIELD(files.load),
                "Start from the weights in this file (safetensors, or .ckpt of MindSpore)"))
      .synonyms = {"weights", "pretrained", "ckpt"};
  file(list.add("save", "save", Effect::files, PARTITA_FIELD(files.save),
                "Write the trained weights to this file (safetensors, or a .ckpt of MindSpore if its name ends so)"))
      .synonyms = {"output", "out", "save-path"};
  file(list.add("adapters", "adapters", Effect::files, PARTITA_FIELD(files.adapters),
                "Load the additions to products (lora) in this file, too, which --save has written"))
      .synonyms = {"lora-weights"};
  list.add("load_averages", "load-averages", Effect::files, PARTITA_FIELD(files.load_averages),
           "Take the averages of a checkpoint (--ema) as weights");
  list.add("save_averages", "save-averages", Effect::files, PARTITA_FIELD(files.save_averages),
           "Write the averages (--ema) in place of the trained weights");
  add_checkpoints(list);
  list.add("resume_with", "resume-with", Effect::files, PARTITA_FIELD(files.resume_with),
           "Key of the configuration that may differ from the checkpoint's, for example schedule.learning_rate")
      .value = "KEY";
  file(list.add("log", "log", Effect::files, PARTITA_FIELD(files.log), "Write one JSON line per step to this file"))
      .synonyms = {"log-file", "logfile"};
  list.add("run", "run", Effect::files, PARTITA_FIELD(files.run),
           "Record the training in this folder, for partita report: configuration, log, prediction, warnings")
      .value = "DIR";
  list.add("tensorboard", "tensorboard", Effect::files, PARTITA_FIELD(files.tensorboard),
           "Write losses, rates and memory of each step to event files in this folder, for TensorBoard")
      .value = "DIR";
  file(list.add("trace", "trace", Effect::files, PARTITA_FIELD(files.trace),
                "Write a timeline of the first steps of each rank to this file (JSON, for Perfetto)"))
      .synonyms = {"profile", "profiler", "timeline"};
  list.add("trace_steps", "trace-steps", Effect::files, PARTITA_FIELD(files.trace_steps), "Steps of the trace",
           {1, 10'000});
  list.add("cluster", "cluster", Effect::files, PARTITA_FIELD(files.cluster),
           "Preset or file of the machine; a trace or a run then has the predicted step next to the measured one")
      .value = "CLUSTER";
  list.add("dump", "dump", Effect::files, PARTITA_FIELD(files.dump), "Write the result of every pass to this folder")
      .value = "DIR";
  list.add("log_dir", "log-dir", Effect::console, PARTITA_FIELD(files.log_dir),
           "Write the output of each process to rank_R.log in this folder")
      .value = "DIR";
  list.add("flight_record", "flight-record", Effect::console, PARTITA_FIELD(files.flight_record),
           "Keep the last 1,000 calls of each rank in rank_R/flight_record of this folder, for partita diagnose")
      .value = "DIR";
}

void add_console(List& list) {
  list.section(OptionSection::console);
  list.add("ranks", "console", Effect::console, PARTITA_FIELD(console.ranks),
           "Ranks that print, if they are processes");
  list.add("per_print_times", "per-print-times", Effect::console, PARTITA_FIELD(console.per_print_times),
           "Steps between two printed losses; 0: none. If not given: a progress line on a terminal, else 100")
      .synonyms = {"log-interval", "print-freq", "log-every"};
  list.add("quiet", "quiet", Effect::console, PARTITA_FIELD(console.quiet), "Print only results and warnings");
  list.add("verbose", "verbose", Effect::console, PARTITA_FIELD(console.verbose),
           "Also print the plan, the memory and the time of every pass");
}

#undef PARTITA_FIELD

std::vector<JobOption> make_options() {
  List list;
  add_job(list);
  add_data(list);
  add_training(list);
  add_optimizer(list);
  add_schedule(list);
  add_evaluation(list);
  add_ranks(list);
  add_plan(list);
  add_pipeline(list);
  add_memory(list);
  add_cuts(list);
  add_files(list);
  add_console(list);
  return list.take();
}

/// Returns the texts as one, "a, b", for messages.
std::string joined(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

}  // namespace

std::string JobOption::key() const {
  return section == OptionSection::job ? name : fmt::format("{}.{}", name_of(section), name);
}

const std::vector<JobOption>& job_options() {
  static const std::vector<JobOption> options = make_options();
  return options;
}

const JobOption& find_option(std::string_view key) {
  std::vector<std::string> keys;
  for (const JobOption& option : job_options()) {
    keys.push_back(option.key());
    if (keys.back() == key) return option;
  }
  throw unknown_name("[configuration] unknown key", key, fmt::format("one of {} keys", keys.size()), keys);
}

void assign(JobConfig& config, const std::vector<Assignment>& assignments) {
  // The optimizer comes first, since another one does not take over all options that were given before.
  const JobOption& optimizer = find_option("optimizer.kind");
  for (const bool is_kind : {true, false}) {
    for (const auto& [option, where, texts] : assignments) {
      if ((option == &optimizer) == is_kind) option->set(config, where, texts);
    }
  }
}

void require_legal(const JobConfig& config) {
  JobConfig copy;
  for (const JobOption& option : job_options()) {
    const std::vector<std::string> texts = option.get(config);
    if (!texts.empty()) option.set(copy, option.key(), texts);
  }
}

std::vector<Difference> differences(const JobConfig& got, const JobConfig& expected) {
  std::vector<Difference> found;
  for (const JobOption& option : job_options()) {
    const std::string own = joined(option.get(got)), other = joined(option.get(expected));
    if (own != other) found.push_back({&option, own, other});
  }
  return found;
}

}  // namespace partita
