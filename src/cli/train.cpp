// partita train: a model on a data set, on one or many ranks.

#include <iostream>
#include <memory>
#include <set>
#include <span>

#include "cli/command_line.h"
#include "cli/jobs.h"
#include "network/losses.h"
#include "report/jsonl.h"
#include "report/progress.h"
#include "train/weights.h"

namespace partita {
namespace {

struct TrainFlags {
  JobFlags job;
  std::optional<int64_t> epochs, steps, warmup_steps;
  std::string optimizer, lr_schedule, loss;
  std::optional<double> learning_rate, momentum, weight_decay;
  bool nesterov = false, deterministic = false;
  std::string batch_norm, gradients = "mean";
  std::string dump, log, save, checkpoint, resume;
  std::vector<std::string> switched_off;
  int64_t checkpoint_every = 0;
  std::optional<int64_t> per_print_times, patience;
  bool validate = false;
};

void add_flags(CLI::App& command, TrainFlags& flags) {
  add_job_flags(command, flags.job);
  command.add_option("--epochs", flags.epochs, "Passes over the training rows");
  command.add_option("--steps", flags.steps, "End after so many steps");
  command.add_option("--optimizer", flags.optimizer, "momentum, sgd, adam or adamw");
  command.add_option("--lr", flags.learning_rate, "Learning rate");
  command.add_option("--lr-schedule", flags.lr_schedule, "constant, linear, cosine or step");
  command.add_option("--warmup-steps", flags.warmup_steps, "Steps of linear rise to the learning rate");
  command.add_option("--momentum", flags.momentum);
  command.add_option("--weight-decay", flags.weight_decay);
  command.add_flag("--nesterov", flags.nesterov, "Nesterov's form of momentum");
  command.add_option("--loss", flags.loss,
                     "sparse, dense, expanded (cross entropy), binary (of each class), mse or mae");
  command.add_option("--batch-norm", flags.batch_norm,
                     "Statistics over the local or the global batch; local under data parallel");
  command.add_option("--gradients", flags.gradients, "mean or sum over ranks")->capture_default_str();
  command.add_flag("--deterministic", flags.deterministic,
                   "The same bits in every run with the same ranks and threads; in-process ranks always do");
  command.add_option("--dump", flags.dump, "Write what every stage made into this folder");
  command.add_option("--no-pass", flags.switched_off, "Leave out a pass of the compiler, by name: partial_sums")
      ->expected(1)
      ->take_all();
  command.add_option("--log", flags.log, "Write one JSON line per step to this file");
  command.add_option("--save", flags.save, "Write the trained weights to this file (safetensors)");
  command.add_option("--checkpoint", flags.checkpoint, "Write the whole training to this file at the end");
  command.add_option("--checkpoint-every", flags.checkpoint_every, "And after every so many steps");
  command.add_option("--resume", flags.resume, "Go on from this checkpoint");
  command.add_flag("--validate", flags.validate, "Test after every epoch");
  command.add_option("--patience", flags.patience,
                     "End when the loss (with --validate, of the test) has not fallen for more than so many epochs");
  command.add_option("--per-print-times", flags.per_print_times,
                     "Steps between two printed losses, 0: none; not given: a progress line on a terminal, else 100");
}

double factor(std::string_view flag, double value) {
  if (value >= 0 && value <= 1) return value;
  throw InvalidArgument(fmt::format("[{}] out of range, got {}, expected 0 to 1", flag, value));
}

/// Flags that would change nothing, or not what they are for.
void refuse_idle(const TrainFlags& flags, const Job& job) {
  const auto refuse = [](std::string_view flag, const std::string& why) {
    throw InvalidArgument(fmt::format("[{}] of no effect, {}", flag, why));
  };
  const std::string& optimizer = job.recipe.optimizer.kind;
  if (optimizer != "momentum") {
    const std::string why = fmt::format("got --optimizer {}, expected --optimizer momentum", optimizer);
    if (flags.momentum) refuse("--momentum", why);
    if (flags.nesterov) refuse("--nesterov", why);
  }
  const ModelOptions& options = job.options;
  if (flags.checkpoint_every > 0 && flags.checkpoint.empty()) {
    refuse("--checkpoint-every", "got no --checkpoint, expected --checkpoint FILE");
  }
  if (!flags.resume.empty() && !flags.job.load.empty()) {
    refuse("--load", "got --resume, which brings all weights, expected one of both");
  }
  if (options.ranks > 1 && options.plan.parallel != "data" && options.plan.parallel != "hybrid") {
    const std::string why = fmt::format("got --parallel {}, expected --parallel data", options.plan.parallel);
    if (flags.gradients == "sum") refuse("--gradients sum", why);
    if (flags.batch_norm == "local") refuse("--batch-norm local", why);
  }
}

/// One file written over another would destroy it.
void refuse_shared_files(const TrainFlags& flags) {
  const std::pair<const char*, const std::string*> files[] = {{"--log", &flags.log},
                                                              {"--save", &flags.save},
                                                              {"--checkpoint", &flags.checkpoint},
                                                              {"--load", &flags.job.load},
                                                              {"--resume", &flags.resume}};
  // Weights may replace those that were loaded, and a checkpoint the one before.
  const std::set<std::pair<std::string, std::string>> allowed{{"--save", "--load"}, {"--checkpoint", "--resume"}};
  for (const auto& [written, path] : std::span(files).first(3)) {
    for (const auto& [flag, other] : files) {
      if (path == other || path->empty() || other->empty() || allowed.contains({written, flag})) continue;
      if (!same_file(*path, *other)) continue;
      throw InvalidArgument(
          fmt::format("[{}] the file of {} too, got {}, expected another file", written, flag, *path));
    }
  }
}

void apply(const TrainFlags& flags, Job& job) {
  Recipe& recipe = job.recipe;
  ModelOptions& options = job.options;
  if (!flags.optimizer.empty()) recipe.optimizer.kind = flags.optimizer;
  check_choice("--optimizer", recipe.optimizer.kind, optimizer_names());
  if (flags.momentum) recipe.optimizer.momentum = factor("--momentum", *flags.momentum);
  if (flags.weight_decay) recipe.optimizer.weight_decay = factor("--weight-decay", *flags.weight_decay);
  if (flags.nesterov) recipe.optimizer.nesterov = true;
  if (!flags.loss.empty()) recipe.loss = flags.loss;
  check_choice("--loss", recipe.loss, loss_names());
  if (flags.learning_rate) options.schedule.learning_rate = *flags.learning_rate;
  if (!flags.lr_schedule.empty()) options.schedule.kind = flags.lr_schedule;
  if (flags.warmup_steps) options.schedule.warmup_steps = *flags.warmup_steps;
  if (!flags.batch_norm.empty()) {
    check_choice("--batch-norm", flags.batch_norm, {"local", "global"});
    options.local_statistics = flags.batch_norm == "local";
  }
  check_choice("--gradients", flags.gradients, {"mean", "sum"});
  options.sum_gradients = flags.gradients == "sum";
  const auto launched = this_rank();
  const bool dumps = !launched || launched->rank == 0;  // the files of all ranks
  options.passes = {.dump_dir = dumps ? flags.dump : "", .switched_off = flags.switched_off};
}

/// Epochs to train; `--steps` alone trains as many as it takes.
int64_t epochs_of(const TrainFlags& flags, const Recipe& recipe) {
  check_range("--steps", flags.steps.value_or(1), 1);
  check_range("--epochs", flags.epochs.value_or(1), 1, 1'000'000);
  if (flags.epochs) return *flags.epochs;
  return flags.steps ? *flags.steps : recipe.epochs;
}

void check_numbers(const TrainFlags& flags) {
  check_range("--per-print-times", flags.per_print_times.value_or(0), 0);
  check_range("--checkpoint-every", flags.checkpoint_every, 0);
  check_range("--patience", flags.patience.value_or(0), 0);
  check_range("--warmup-steps", flags.warmup_steps.value_or(0), 0);
}

/// The callbacks that the flags ask for.
class Watchers {
 public:
  Watchers(const TrainFlags& flags, int64_t per_print_times, bool writes_files) {
    if (!flags.per_print_times && is_terminal() && !this_rank()) {
      add(std::make_unique<ProgressLine>(std::cout));
    } else {
      add(std::make_unique<LossMonitor>(std::cout, flags.per_print_times.value_or(per_print_times)));
      add(std::make_unique<TimeMonitor>(std::cout));
      if (flags.validate) add(std::make_unique<ValidationMonitor>(std::cout));
    }
    if (!writes_files) return;
    if (!flags.log.empty()) add(std::make_unique<JsonLines>(flags.log, warn));
    if (flags.patience) {
      add(std::make_unique<EarlyStopping>(EarlyStopping::Options{.patience = *flags.patience}, std::cout));
    }
    if (!flags.checkpoint.empty()) {
      add(std::make_unique<CheckpointSaver>(flags.checkpoint, flags.checkpoint_every));
    }
  }

  std::vector<Callback*> all() const {
    std::vector<Callback*> all;
    for (const auto& callback : callbacks_) all.push_back(callback.get());
    return all;
  }

 private:
  void add(std::unique_ptr<Callback> callback) { callbacks_.push_back(std::move(callback)); }

  std::vector<std::unique_ptr<Callback>> callbacks_;
};

void run_train(const TrainFlags& flags) {
  check_numbers(flags);
  Job job(flags.job);
  apply(flags, job);
  refuse_idle(flags, job);
  refuse_shared_files(flags);
  const int64_t epochs = epochs_of(flags, job.recipe);
  job.settle();
  // What cannot be written is known before hours of training, not after.
  if (!flags.save.empty()) check_writable(flags.save);
  if (!flags.checkpoint.empty()) check_writable(flags.checkpoint);

  Model model(*job.network, job.recipe.loss, job.recipe.optimizer, job.options);
  const Watchers watchers(flags, job.recipe.per_print_times, !job.world || job.world->rank() == 0);
  const DatasetPtr rows = job.dataset(Split::train, "training");
  const DatasetPtr test = job.test_set();
  if (flags.validate && test == nullptr) {
    throw InvalidArgument(
        fmt::format("[--validate] no test set, got '{}', expected a folder with one", job.data.folder));
  }
  if (!flags.job.load.empty()) model.load(flags.job.load);
  if (!flags.resume.empty()) model.resume(flags.resume);

  model.train(rows, {.epochs = epochs,
                     .most_steps = flags.steps.value_or(0),
                     .validation = flags.validate ? test : nullptr,
                     .callbacks = watchers.all()});
  if (!flags.save.empty()) model.save(flags.save);
  if (test != nullptr) std::cout << fmt::format("test accuracy {:.4f}\n", model.eval(test).accuracy());
}

}  // namespace

void add_train(CLI::App& app) {
  const auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app.add_subcommand("train", "Train a model");
  add_flags(*command, *flags);
  command->footer("Example: partita train lenet --data mnist:data/mnist --ranks 8 --epochs 2 --save lenet.safetensors");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_train(*flags);
  });
}

}  // namespace partita
