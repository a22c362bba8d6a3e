#include "training/length_notes.h"

#include "base/error.h"

namespace partita {
namespace {

int64_t steps_of(const JobConfig& config, const FitOptions& fit, int64_t rows) {
  return training_steps(fit.epochs.value_or(config.training.epochs), fit.max_steps.value_or(config.training.steps),
                        rows / config.training.batch);
}

}  // namespace

std::string note_on_length(const JobConfig& config, const FitOptions& fit, int64_t rows) {
  if (fit.epochs || fit.max_steps) return "";
  const TrainingConfig& training = config.training;
  const int64_t of_epochs = training.epochs * (rows / training.batch), steps = steps_of(config, fit, rows);
  const int64_t warm_up = config.schedule.warmup_steps;
  if (warm_up > steps && fit.is_said && fit.is_said("schedule.warmup_steps")) {
    throw InvalidArgument("[--warmup-steps] longer than the training, got {} of {} steps, expected at most {}", warm_up,
                          steps, steps);
  }
  if (of_epochs == 0 || training.steps == 0 || of_epochs == training.steps) return "";
  return fmt::format("the training ends after {} steps: the smaller of --steps {} and --epochs {}, {} steps\n", steps,
                     training.steps, training.epochs, of_epochs);
}

std::string note_on_warm_up(const JobConfig& config, const FitOptions& fit, int64_t rows) {
  const LrSchedule& schedule = config.schedule;
  const int64_t steps = steps_of(config, fit, rows);
  if (fit.learning_rate || steps <= 0 || schedule.warmup_steps <= steps) return "";
  return fmt::format(
      "the training ends within its warm-up, after {} of {} steps: the learning rate rises to {:.3g} of {:.3g}\n",
      steps, schedule.warmup_steps, learning_rate_at(schedule, steps - 1), schedule.learning_rate);
}

std::string note_on_left_out(const JobConfig& config, const FitOptions& fit, int64_t rows) {
  const int64_t batch = config.training.batch, left_out = rows % batch, steps_per_epoch = rows / batch;
  if (left_out == 0 || steps_per_epoch == 0 || steps_of(config, fit, rows) < steps_per_epoch) return "";
  return fmt::format("each epoch leaves out {} of {} rows, which fill no batch of {}\n", left_out, rows, batch);
}

}  // namespace partita
