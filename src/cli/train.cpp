// partita train: a model on a data set, on one or many ranks.

#include <iostream>
#include <memory>
#include <set>
#include <span>

#include "checkpoint/weights.h"
#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/options.h"
#include "cli/process.h"
#include "cli/reports.h"
#include "cli/rows.h"
#include "launch/signals.h"
#include "training/memory.h"

namespace partita {
namespace {

constexpr std::string_view kLatest = "latest";

struct TrainFlags {
  JobFlags job;
  bool deterministic = false;
};

/// Flags that would change nothing, or not what they are for.
void refuse_ineffective(const JobFlags& flags, const JobConfig& config) {
  const auto refuse = [&](std::string_view key, const std::string& why) {
    if (!is_given(flags, key)) return;
    throw InvalidArgument(fmt::format("[--{}] of no effect, {}", find_option(key).flag, why));
  };
  if (config.optimizer.kind != OptimizerKind::momentum) {
    const std::string why =
        fmt::format("got --optimizer {}, expected --optimizer momentum", name_of(config.optimizer.kind));
    for (const char* key : {"optimizer.momentum", "optimizer.nesterov", "optimizer.dampening"}) refuse(key, why);
  }
  if (config.optimizer.kind == OptimizerKind::momentum || config.optimizer.kind == OptimizerKind::sgd) {
    const std::string why =
        fmt::format("got --optimizer {}, expected --optimizer adam or adamw", name_of(config.optimizer.kind));
    for (const char* key : {"optimizer.beta1", "optimizer.beta2", "optimizer.epsilon", "optimizer.biased_epsilon"}) {
      refuse(key, why);
    }
  }
  if (config.schedule.kind == LrKind::constant) {
    refuse("schedule.steps", "got --lr-schedule constant, expected --lr-schedule linear, cosine or step");
  } else if (config.schedule.kind == LrKind::step && config.schedule.step_every > 0) {
    refuse("schedule.steps", fmt::format("got --lr-step-every {}, expected one of both", config.schedule.step_every));
  }
  if (config.schedule.kind != LrKind::step) {
    const std::string why =
        fmt::format("got --lr-schedule {}, expected --lr-schedule step", name_of(config.schedule.kind));
    for (const char* key : {"schedule.step_every", "schedule.step_factor"}) refuse(key, why);
  }
  if (!uses_annotations(config.plan.options.parallel)) {
    refuse("plan.dataset_strategy",
           fmt::format("got --parallel {}, expected --parallel semi or auto", name_of(config.plan.options.parallel)));
  }
  if (config.plan.options.zero.level == 0) {
    for (const char* key : {"plan.zero_group", "plan.zero_threshold"}) refuse(key, "got --zero 0, expected 1, 2 or 3");
  } else if (config.plan.options.zero.level == 1 && config.optimizer.kind == OptimizerKind::sgd) {
    refuse("plan.zero", "got --zero 1 with --optimizer sgd, which has no states, expected --zero 2 or 3");
  }
  if (config.training.gradients == GradientReduction::sum && config.ranks.count == 1) {
    refuse("training.gradients", "got --ranks 1, expected 2 ranks or more");
  }
  if (!config.training.evaluate) {
    refuse("evaluation.top", "got --no-eval, expected --eval");
    if (!config.training.validate) refuse("evaluation.batch", "got --no-eval, expected --eval or --validate");
  }
  if (config.files.trace.empty()) {
    for (const char* key : {"files.trace_steps", "files.cluster"}) refuse(key, "got no --trace, expected --trace FILE");
  }
  if (config.files.resume.empty()) refuse("files.resume_with", "got no --resume, expected --resume FILE");
  if (config.files.checkpoint.empty()) {
    for (const char* key : {"files.checkpoint_seconds", "files.checkpoint_keep", "files.checkpoint_async",
                            "files.checkpoint_integrated", "files.checkpoint_errors"}) {
      refuse(key, "got no --checkpoint, expected --checkpoint DIR");
    }
    if (config.files.resume == kLatest) {
      throw InvalidArgument(
          "[--resume] no folder to look into, got latest without --checkpoint, expected --checkpoint "
          "DIR or --resume DIR");
    }
  }
}

/// A warm-up that was asked for, and would not be over at the end. That of a recipe may be.
void refuse_long_warm_up(const JobFlags& flags, const JobConfig& config, int64_t rows) {
  const TrainingConfig& training = config.training;
  const int64_t steps = training_steps(training.epochs, training.steps, rows / training.batch),
                warm_up = config.schedule.warmup_steps;
  if (warm_up <= steps || !is_given(flags, "schedule.warmup_steps")) return;
  throw InvalidArgument(fmt::format(
      "[--warmup-steps] longer than the training, got {} of {} steps, expected at most {}", warm_up, steps, steps));
}

/// A file may say 0 epochs, which are as many as its steps take.
void refuse_no_length(const TrainingConfig& training) {
  if (training.epochs > 0 || training.steps > 0) return;
  throw InvalidArgument("[--epochs] a training without a length, got 0 and no --steps, expected 1 epoch or more");
}

/// Where both lengths were given the training ends before one of them.
void tell_length(const JobConfig& config, int64_t rows) {
  const TrainingConfig& training = config.training;
  const int64_t of_epochs = training.epochs * (rows / training.batch);
  if (config.console.quiet || of_epochs == 0 || training.steps == 0 || of_epochs == training.steps) return;
  std::cout << fmt::format("the training ends after {} steps: the lesser of --steps {} and --epochs {}, {} steps\n",
                           std::min(of_epochs, training.steps), training.steps, training.epochs, of_epochs)
            << std::flush;
}

/// One file written over another would destroy it.
void refuse_shared_files(const FilesConfig& files) {
  const std::pair<const char*, const std::string*> all[] = {
      {"--log", &files.log},   {"--trace", &files.trace},  {"--save", &files.save}, {"--checkpoint", &files.checkpoint},
      {"--load", &files.load}, {"--resume", &files.resume}};
  // Weights may replace those that were loaded, and a checkpoint the one before.
  const std::set<std::pair<std::string, std::string>> allowed{{"--save", "--load"}, {"--checkpoint", "--resume"}};
  for (const auto& [written, path] : std::span(all).first(4)) {
    for (const auto& [flag, other] : all) {
      if (path == other || path->empty() || other->empty() || allowed.contains({written, flag})) continue;
      if (!same_file(*path, *other)) continue;
      throw InvalidArgument(
          fmt::format("[{}] the file of {} too, got {}, expected another file", written, flag, *path));
    }
  }
}

/// What cannot be written is known before hours of training, not after.
void require_writable(const FilesConfig& files, const Place& place) {
  if (!files.save.empty()) check_writable(files.save);
  if (!files.checkpoint.empty() && place.is_first()) check_checkpoint_folder(files.checkpoint);
}

/// Rows to test on after or while training; none, with a warning, when the data come without them.
DatasetPtr open_test_rows(const ZooJob& job) {
  const TrainingConfig& training = job.config().training;
  if (!training.validate && !training.evaluate) return nullptr;
  if (job.has_rows(Split::test)) return job.rows(Split::test);
  if (training.validate) {
    throw InvalidArgument(fmt::format("[--validate] no test set, got '{}', expected a source with one",
                                      job.model().own_rows ? job.model().name : print(job.source())));
  }
  if (job.model().own_rows == nullptr) {
    warn(fmt::format("[data] no test set in '{}': no accuracy will be printed", print(job.source())));
  }
  return nullptr;
}

/// What --resume leads to; "": the training begins, as nothing was saved yet.
std::string resumed_path(const FilesConfig& files) {
  if (files.resume != kLatest) return files.resume;
  std::vector<std::string> damaged;
  if (newest_checkpoint(files.checkpoint, [&](const std::string& message) { damaged.push_back(message); })) {
    return files.checkpoint;
  }
  for (const std::string& message : damaged) warn(message);
  std::cout << fmt::format("no checkpoint in {} yet: the training begins\n", files.checkpoint) << std::flush;
  return "";
}

std::optional<CheckpointOptions> checkpoint_options(const FilesConfig& files) {
  if (files.checkpoint.empty()) return std::nullopt;
  return CheckpointOptions{.folder = files.checkpoint,
                           .every = files.checkpoint_every,
                           .seconds = files.checkpoint_seconds,
                           .keep = files.checkpoint_keep,
                           .asynchronous = files.checkpoint_async == Switch::on,
                           .integrated = files.checkpoint_integrated,
                           .stop_on_error = files.checkpoint_errors == CheckpointErrors::stop};
}

/// Saves what was asked for, and says so.
void save_end(const TrainingEnd& end, const FilesConfig& files, const Model& model) {
  if (end.stopped_by != 0) {
    std::cout << fmt::format("\ninterrupted: the training ends after step {}\n", end.step) << std::flush;
  }
  if (!files.save.empty()) {
    model.save(files.save);
    std::cout << fmt::format("saved to {}\n", files.save);
  }
  if (!files.checkpoint.empty() && end.checkpoint_error.empty()) {
    std::cout << fmt::format("checkpoint in {}\n", checkpoint_path(files.checkpoint, end.saved_step));
  }
}

/// Why a training ended before its end.
void report_failure(const TrainingEnd& end) {
  if (!end.checkpoint_error.empty()) throw RuntimeFailure(ExitCode::cannot_write, end.checkpoint_error);
  if (end.stopped_by == 0) return;
  const std::string got = end.stopped_by == SIGINT ? "Ctrl-C" : signal_name(end.stopped_by);
  throw RuntimeFailure(static_cast<ExitCode>(kSignalExit + end.stopped_by),
                       fmt::format("[train] interrupted, got {}, expected the training to end by itself", got));
}

void run_train(const TrainFlags& flags) {
  const SignalGuard signals;
  const Place place = this_place();
  const ZooJob job(configuration(flags.job), place);
  refuse_ineffective(flags.job, job.config());
  verify_training(job.config(), place);
  refuse_no_length(job.config().training);
  if (printed_config(flags.job, job.config())) return;
  const FilesConfig& files = job.config().files;
  refuse_shared_files(files);
  const PreparedProcess process = prepare_process(job.config(), place);
  require_writable(files, place);
  const PlanConfig& plan = job.config().plan;
  if (plan.given && !job.config().console.quiet) std::cout << plan.given->description << "\n" << std::flush;

  Model model(job.network(), job.config(), place);
  model.on_warning([](const std::string& message) { warn(message); });
  if (job.config().console.verbose) model.on_program([](const std::string& text) { std::cout << text << std::flush; });
  if (!files.checkpoint.empty()) model.hold_checkpoints(files.checkpoint, /*goes_on=*/!files.resume.empty());
  const Reports reports(job.config(), place);
  const DatasetPtr rows = open_rows(job, Split::train, "training");
  const DatasetPtr test = open_test_rows(job);
  refuse_long_warm_up(flags.job, job.config(), rows->size());
  tell_length(job.config(), rows->size());
  if (!files.load.empty()) model.load(files.load);
  if (const std::string path = resumed_path(files); !path.empty()) model.resume(path);

  const bool tests = test != nullptr && job.config().training.evaluate;
  const TrainingEnd end =
      model.train(rows, {.validation = job.config().training.validate ? test : nullptr,
                         .callbacks = reports.callbacks(),
                         .observers = reports.observers(),
                         .checkpoints = checkpoint_options(files),
                         .signals = &SignalGuard::requests,
                         .keeps_states = !files.save.empty(),
                         .test = tests ? test : nullptr,
                         .test_progress = reports.evaluation_progress(),
                         .ended = [&](const TrainingEnd& ended) {
                           save_end(ended, files, model);
                           const bool is_whole = ended.stopped_by == 0 && ended.checkpoint_error.empty();
                           if (!tests || !is_whole || job.config().console.quiet) return;
                           std::cout << fmt::format("testing on {} rows\n", test->size()) << std::flush;
                         }});
  report_failure(end);
  if (end.test) print_result(std::cout, *end.test, ResultLines::accuracy, is_given(flags.job, "evaluation.top"));
}

}  // namespace

void add_train(CLI::App& app) {
  const auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app.add_subcommand("train", "Train a model");
  add_job_flags(*command, flags->job, [](const JobOption&) { return true; });
  command->add_flag("--deterministic", flags->deterministic,
                    "The same bits in every run with the same ranks and threads, as every run has them");
  command->footer(
      "Training, optimizer and learning rate are the model's own where no flag says otherwise: see --print-config.\n"
      "Example: partita train lenet --data mnist:data/mnist --ranks 8 --epochs 2 --save lenet.safetensors");
  command->callback([command, flags] {
    refuse_empty(*command);
    run_train(*flags);
  });
}

}  // namespace partita
