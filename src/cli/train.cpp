// partita train: a model on a data set, on one or many ranks.

#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/job_flags.h"
#include "cli/rows.h"
#include "job/ineffective.h"
#include "runtime/launch/signals.h"
#include "training/model.h"

namespace partita {
namespace {

struct TrainFlags {
  JobFlags job;
};

/// Checks that a training has epochs or steps. A file may set 0 epochs if it sets steps. Throws InvalidArgument
/// otherwise.
void refuse_no_length(const TrainingConfig& training) {
  if (training.epochs > 0 || training.steps > 0) return;
  throw InvalidArgument("[--epochs] the training has no length, got 0 and no --steps, expected 1 epoch or more");
}

/// Reports why a training did not end by itself or could not write its checkpoint. Returns if neither happened. Throws
/// RuntimeFailure with the reason, as cannot_write or as 128 + the number of the signal.
void report_failure(const TrainingEnd& end) {
  if (!end.checkpoint_error.empty()) throw RuntimeFailure(ExitCode::cannot_write, end.checkpoint_error);
  if (end.stopped_by == 0) return;
  const std::string got = end.stopped_by == SIGINT ? "Ctrl-C" : signal_name(end.stopped_by);
  throw RuntimeFailure(static_cast<ExitCode>(kSignalExit + end.stopped_by),
                       "[train] interrupted, got {}, expected the training to run to its end", got);
}

void run_train(const TrainFlags& flags) {
  const SignalGuard signals;
  const Place place = this_place();
  const ZooJob job(configuration(flags.job), place);
  const IsSaid is_said = [&](std::string_view key) { return is_given(flags.job, key); };
  refuse_ineffective(job.config(), is_said, OptionNames::flags);
  verify_training(job.config(), place);
  refuse_no_length(job.config().training);
  if (printed_config(flags.job, job.config())) return;
  const bool shows_top = is_set(flags.job, "evaluation.top");
  Model model(job, place);
  const TrainingEnd end = model.train({.signals = &SignalGuard::requests, .keeps_states = false, .is_said = is_said});
  report_failure(end);
  if (end.test) print_result(std::cout, *end.test, ResultLines::accuracy, shows_top);
}

}  // namespace

void add_train(CLI::App& app) {
  const auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = add_command(app, "train", "Train a model", flags, run_train);
  add_job_flags(*command, flags->job, [](const JobOption&) { return true; });
  command->footer(
      "Settings of the training, the optimizer and the learning rate default to the model's own: see "
      "--print-config.\nExample: partita train lenet --data mnist:data/mnist --ranks 8 --epochs 2 --save "
      "lenet.safetensors");
}

}  // namespace partita
