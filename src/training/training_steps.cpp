#include "training/training_steps.h"

#include <algorithm>

namespace partita {
namespace {

/// Names a step, counted from 0, and the rows of the global batch.
std::string describe_step(const TrainingRun& run, int64_t step) {
  const int64_t epoch = step / run.info.steps_per_epoch, first = step % run.info.steps_per_epoch * run.batch;
  return fmt::format("in step {}, of rows {} to {} of epoch {}", step + 1, first, first + run.batch - 1, epoch + 1);
}

/// Says why a training ends with a step that is not finite.
std::string describe_end(const std::string& what, const LossScale& scale) {
  const std::string row = fmt::format("; {} steps in a row were not finite", LossScale::kMaxBadSteps);
  return what + (scale.skips() ? row : "");
}

/// Says what follows a step that is not finite in a training that goes on.
std::string describe_skip(const std::string& what, const LossScale& scale) {
  return what + "; nothing is updated" +
         (scale.is_dynamic() ? fmt::format(", the next loss scale is {}", scale.value()) : "");
}

/// Whether copies to a device cost its programs neither time nor memory that another rank needs: the rank has one of
/// its own, which is not the processor.
bool has_own_device(const TrainingRun& run, RankRun& rank, const Communicator& comm) {
  const std::optional<SeenDevices> devices = rank.devices();
  return devices && have_devices(run.rank, *devices, comm.host_place());
}

/// Describes the place of a step, counted from 0, in the training.
StepInfo info_of(const TrainingRun& run, int64_t step) {
  StepInfo info;
  info.epoch = step / run.info.steps_per_epoch + 1;
  info.step = step % run.info.steps_per_epoch + 1;
  info.global_step = step + 1;
  info.samples = run.batch;
  return info;
}

}  // namespace

TrainingSteps::TrainingSteps(const TrainingRun& run, RankRun& rank, Communicator& comm, Recorder* recorder)
    : run_(run),
      rank_(rank),
      comm_(comm),
      recorder_(recorder),
      scale_(run.training, run.position.loss_scale),
      rows_(rank, rank.rows(run.rows, run.batch),
            {run.info.first_step / run.info.steps_per_epoch, run.info.first_step % run.info.steps_per_epoch},
            has_own_device(run, rank, comm)),
      can_run_ahead_(run.trace.path.empty() && !scale_.is_on() && !scale_.skips() && rank.executor().can_run_ahead()) {}

void TrainingSteps::begin(int64_t step, double learning_rate, bool feeds_next, bool trace) {
  const Begun begun{.step = step, .begin = Clock::now(), .learning_rate = learning_rate, .scale = scale_.value()};
  comm_.begin_step(step + 1);
  if (recorder_ != nullptr) recorder_->begin_step(step + 1, trace);
  whole_.emplace(recorder_, Span{.kind = Span::whole_step});
  rows_.feed(recorder_);
  {
    const Recorded recorded(recorder_, {.kind = Span::feed});
    rank_.feed_learning_rate(learning_rate);
    if (scale_.is_on()) rank_.feed_loss_scale(begun.scale);
  }
  rank_.executor().begin_step(feeds_next ? rows_.feeds_next(recorder_) : nullptr);
  begun_.push_back(begun);
}

StepInfo TrainingSteps::end() {
  const Begun begun = begun_.front();
  begun_.pop_front();
  const StepResult result = rank_.executor().end_step();
  whole_.reset();
  const bool updated = is_updated(begun.step, result.bad);
  StepInfo info = info_of(run_, begun.step);
  info.loss = result.loss;
  info.skipped = !updated;
  info.loss_scale = begun.scale;
  const Clock::time_point now = Clock::now();
  info.seconds = std::chrono::duration<double>(now - std::max(begun.begin, last_end_)).count();
  last_end_ = now;
  info.learning_rate = begun.learning_rate;
  if (recorder_ != nullptr) info.exposed_communication = recorder_->exposed_seconds();
  return info;
}

/// Counts a step and returns whether it updated the states.
bool TrainingSteps::is_updated(int64_t step, const std::optional<std::string>& bad) {
  if (!bad) {
    scale_.add_good_step();
    return true;
  }
  const std::string what = fmt::format("[train] {}; {}", *bad, describe_step(run_, step));
  if (!scale_.add_bad_step()) {
    all_end_ = true;
    throw RuntimeFailure(ExitCode::non_finite, describe_end(what, scale_));
  }
  if (comm_.rank() == 0 && run_.warn) run_.warn(describe_skip(what, scale_));
  return false;
}

}  // namespace partita
