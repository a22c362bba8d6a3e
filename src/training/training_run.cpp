#include "training/training_run.h"

#include <chrono>
#include <cmath>

#include "job/fused_attention.h"
#include "training/agreement.h"
#include "training/best_weights.h"
#include "training/checkpoint_timer.h"
#include "training/kept_texts.h"
#include "training/loop_events.h"
#include "training/report/epoch_so_far.h"
#include "training/requested_files.h"
#include "training/training_steps.h"
#include "training/validations.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Checks that the weights of this rank are finite. Throws RuntimeFailure(non_finite) otherwise.
void check_weights(RankRun& rank) {
  for (const auto& stage : rank.executor().stages()) {
    for (const std::string& name : weight_names(stage->local().graph)) {
      const StatePart part = stage->state_part(name);
      check_finite(name, part.values, print_box(part.box));
    }
  }
}

double scheduled_rate(const TrainingRun& run, int64_t step) {
  return run.rate ? run.rate->at(step) : learning_rate_at(run.schedule, step);
}

/// Warns, on the first rank, of modes that were left open where a faster one would have an effect.
void note_modes(const TrainingRun& run, RankRun& rank, const Communicator& comm) {
  const std::optional<SeenDevices> devices = rank.devices();
  if (!devices || comm.rank() != 0 || !run.warn) return;
  int64_t ranks = 1;  // number of those of the largest stage
  for (const StageProgram& stage : run.program.stages) ranks = std::max(ranks, stage.local.mesh.ranks());
  const SlowerModes slower =
      slower_modes(run.rank, *devices, static_cast<int>(ranks), comm.host_place(), composes_attention(run.program));
  const std::string note = note_on_modes(devices->platform, slower);
  if (!note.empty()) run.warn(note);
}

class Loop {
 public:
  Loop(const TrainingRun& run, RankRun& rank, Communicator& comm) : run_(run), comm_(comm), rank_(rank) {
    if (run.measures_communication || !run.trace.path.empty()) {
      recorder_.emplace();
      rank_.executor().record(*recorder_, run.trace.path.empty() ? 0 : run.trace.steps);
    }
    steps_.emplace(run, rank, comm, recorder());
    comm.barrier();
    note_modes(run, rank, comm);
    const auto read = [this](const std::string& name) { return agreement_.read(name); };
    for (TrainControl* control : {&control_, &unacknowledged_}) control->read_states_by(read);
    if (run.position.learning_rate) control_.set_learning_rate(*run.position.learning_rate);
    if (run.checkpoints != nullptr) {
      saving_.emplace(*run.checkpoints, run.program, rank_.executor(), comm, run.warn, run.owner);
      timer_.emplace(*run.checkpoints, run.info.first_step);
    }
    if (!run.trace.path.empty()) trace_.emplace(run.trace, run.program, comm, run.own_process, run.warn);
  }

  void train() {
    try {
      take_steps();
      end();
    } catch (...) {
      leave();
      throw;
    }
  }

 private:
  void take_steps() {
    TrainInfo info = run_.info;
    info.control = comm_.rank() == 0 ? &control_ : &unacknowledged_;
    info.good_steps = steps_->scale().good_steps();
    notify([&](Callback& callback) { callback.on_train_begin(info); });
    restore(run_.position);
    int64_t step = info.first_step;
    agree(step);
    while (step < info.steps && !control_.stopped()) {
      begin(step++);
      const bool ends_epoch = step % info.steps_per_epoch == 0;
      const bool waits = waits_ || ends_epoch || step == info.steps || validations_.follows(step);
      end_steps(waits ? 0 : 1);
      if (validations_.follows(step)) validate(step, ends_epoch);
      if (ends_epoch) {
        end_epoch(step);
        epoch_ = {};
      }
      agree(step);
      if (saving_) events_.end_saving(saving_->last_saved());
      for (const StepInfo& one : std::exchange(ended_, {})) events_.end_step(one.global_step, one);
      if (trace_ && trace_->takes_step()) trace_->end_step(*recorder_);
    }
    if (epoch_.losses().steps > 0) {  // the last epoch is partial; a resumed training completes it
      if (saving_) save_last(step);
      kept_ = kept_texts();
      if (validations_.follows(step, /*is_last=*/true) && !validations_.has_run(step)) validate(step, true);
      end_epoch(step);
      agree(step);
    }
    if (trace_) trace_->finish(*recorder_);
    if (saving_) save_last(step);
    if (saving_) events_.end_saving(saving_->last_saved());
    files_.finish();
    result_.position = position_at(step);
  }

  /// Completes what the training has begun to write when an error ends it: files that callbacks requested, the trace
  /// and, if all ranks end at the same point, the open checkpoint. They do so after a step that is not finite, and if
  /// all of them know of a callback that has failed. If only callbacks of other ranks have failed, throws
  /// RuntimeFailure with the error of one of these. Failures to write are warnings.
  void leave() {
    steps_->close_span();
    const bool all_end = steps_->all_end() || agreement_.has_failed() || comm_.size() == 1;
    const RankOutcome files = outcome_of([&] { files_.finish(); });
    const RankOutcome checkpoint = outcome_of([&] {
      if (saving_ && all_end) saving_->finish();
    });
    for (const RankOutcome& outcome : {files, checkpoint}) {
      if (!outcome.is_good() && run_.warn && reports_here()) run_.warn(outcome.error);
    }
    if (trace_) trace_->rescue(*recorder_, all_end);
    // The barrier ends with the error of the rank that has failed.
    if (agreement_.has_failed() && !own_callback_failed_) comm_.barrier();
  }

  /// Collects the result and reports it. Then runs the test, if there is one, unless a signal ended the training or its
  /// last checkpoint could not be written. Throws RuntimeFailure(non_finite) if the states are not kept and a weight is
  /// not finite, and if a result of the test is not; RuntimeFailure if a rank is lost; and what Evaluation::run, the
  /// functions of the run and callbacks throw.
  void end() {
    result_.stopped_by = stopped_by_;
    if (saving_) {
      result_.saved_step = saving_->last_saved();
      result_.checkpoint_error = saving_->error();
      saving_.reset();
    }
    rank_.executor().keep_states_alone();
    if (run_.restores_best && stopped_by_ == 0) result_.restored_step = restore_best(run_, rank_, control_.best_step());
    notify([&](Callback& callback) { callback.on_train_end(); });
    agreement_.await_callbacks();
    if (run_.keeps_states) {
      result_.states = run_.own_process ? rank_.states() : rank_.states_on_first();
    } else {
      const RankOutcome weights = agreed(outcome_of([&] { check_weights(rank_); }), comm_);
      if (!weights.is_good()) throw RuntimeFailure(weights.code, weights.error);
    }
    const bool is_whole = stopped_by_ == 0 && result_.checkpoint_error.empty(), reports = reports_here();
    if (reports) run_.ended(std::move(result_));
    if (run_.test == nullptr || !is_whole) return;
    const Metrics test = run_.test->run(rank_, comm_.rank() == 0 ? run_.test_progress : nullptr);
    check_finite(test);
    if (reports) run_.tested(test);
  }

  /// Restores the losses of the epoch and, on rank 0, the texts of callbacks. Throws what Callback::restore throws.
  void restore(const TrainingPosition& position) {
    epoch_ = EpochSoFar(position.epoch, run_.info.first_step % run_.info.steps_per_epoch);
    if (comm_.rank() == 0) restore_texts(run_.callbacks, position.callbacks, run_.info, run_.from, run_.warn);
  }

  /// Writes this rank's part of a checkpoint of the current step. Throws as CheckpointSaving::save does.
  void save(int64_t step) {
    saving_->save({.position = position_at(step), .plan = run_.plan, .best_step = control_.best_step()});
    timer_->begin(step);
  }

  void save_last(int64_t step) {
    saving_->finish();
    if (saving_->last_saved() == step) return;
    save(step);
    saving_->finish();
  }

  /// Calls `event` for this rank's callbacks and observers. If one throws, tells the other ranks and throws it.
  template <class Event>
  void notify(const Event& event) {
    const Agreement::Callbacks running(agreement_);
    try {
      if (comm_.rank() == 0) {
        for (Callback* callback : run_.callbacks) event(*callback);
      }
      for (Callback* observer : reports_here() ? run_.observers : std::vector<Callback*>()) event(*observer);
    } catch (...) {
      own_callback_failed_ = !agreement_.has_failed();  // else the error is that of a read that another rank has ended
      if (own_callback_failed_) agreement_.fail();
      throw;
    }
  }

  /// Begins a step, counted from 0. If it cannot begin on the only rank, ends the one before it first; with several,
  /// one rank cannot end it without the others.
  void begin(int64_t step) {
    try {
      steps_->begin(step, learning_rate_of(step), feeds_next(step), trace_ && trace_->takes_step());
    } catch (...) {
      if (comm_.size() == 1 && rank_.executor().steps_in_flight() == steps_->begun()) end_steps(0);
      throw;
    }
  }

  /// Ends steps, oldest first, until `left` are in flight, and tells the callbacks of each.
  void end_steps(size_t left) {
    while (steps_->begun() > left) {
      StepInfo info = steps_->end();
      info.elapsed = elapsed_;
      info.memory = events_.memory();
      epoch_.add(info.loss, info.exposed_communication.value_or(0));
      notify([&](Callback& callback) { callback.on_step_end(info); });
      ended_.push_back(info);
      if (steps_->begun() > left) agreement_.await_callbacks();  // ending the next step may be collective
    }
  }

  /// Whether a step, counted from 0, has to end before the next one begins, as far as this rank knows.
  bool has_to_wait(int64_t step) {
    if (!steps_->can_run_ahead()) return true;
    bool waits = false;
    notify([&](const Callback& callback) { waits = waits || !callback.may_lag(step + 1); });
    return waits;
  }

  /// Whether the next step may be fed while this one runs. A validation in between needs the memory of the device.
  bool feeds_next(int64_t step) const { return step + 1 < run_.info.steps && !validations_.follows(step + 1); }

  TrainingPosition position_at(int64_t step) const {
    TrainingPosition position = run_.position;
    position.step = step;
    position.learning_rate = control_.learning_rate(step);
    position.loss_scale = steps_->scale().state();
    position.epoch = epoch_.losses();
    position.callbacks = kept_ ? *kept_ : kept_texts();
    return position;
  }

  /// Returns what callbacks keep, on rank 0, which has them.
  std::map<std::string, KeptText> kept_texts() const {
    return comm_.rank() == 0 ? saved_texts(run_.callbacks, run_.info) : std::map<std::string, KeptText>();
  }

  double learning_rate_of(int64_t step) const {
    return control_.learning_rate(step).value_or(scheduled_rate(run_, step));
  }
  bool reports_here() const { return comm_.rank() == 0 || run_.own_process; }
  Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }

  void validate(int64_t step, bool ends_epoch) {
    agreement_.await_callbacks();
    const ValidationInfo info = validations_.run(step, ends_epoch);
    notify([&](Callback& callback) { callback.on_validation(info); });
  }

  void end_epoch(int64_t step) {
    EpochInfo info = epoch_.info((step - 1) / run_.info.steps_per_epoch + 1, recorder_.has_value());
    info.validation = validations_.of_epoch(step);
    notify([&](Callback& callback) { callback.on_epoch_end(info); });
  }

  /// Agrees with the other ranks on what rank 0's callbacks and all ranks' signals requested, and does it. Throws
  /// RuntimeFailure if a rank is lost, a requested file cannot be written or would hold a state that is not finite, or
  /// a checkpoint cannot be written and the training has to end.
  void agree(int64_t step) {
    files_.ask_for((comm_.rank() == 0 ? control_ : unacknowledged_).take_files());
    const SignalRequests signals = run_.signals && reports_here() ? run_.signals() : SignalRequests{};
    using enum Agreement::Field;
    Agreement::Fields asked{};
    asked[kLearningRate] = -1;
    if (comm_.rank() == 0) {
      asked[kStop] = control_.stopped() ? 1 : 0;
      asked[kLearningRate] = control_.learning_rate(step).value_or(-1);
      asked[kElapsed] = seconds_since(begin_);
      const bool is_best = control_.take_best() && saving_ && !timer_->has_begun(step);
      asked[kDue] = is_best || (saving_ && timer_->is_due(step)) ? 1 : 0;
    }
    asked[kFiles] = static_cast<double>(files_.needed());
    asked[kSignal] = signals.stop;
    asked[kSaves] = static_cast<double>(signals.saves);
    asked[kBusy] = saving_ && saving_->is_busy() ? 1 : 0;
    asked[kWaits] = has_to_wait(step) ? 1 : 0;
    {
      const Recorded recorded(recorder(), {.kind = Span::agreement});
      asked = agreement_.exchange(asked);
    }
    waits_ = asked[kWaits] != 0;
    if (comm_.rank() != 0 && asked[kLearningRate] >= 0) control_.set_learning_rate(asked[kLearningRate]);
    stopped_by_ = static_cast<int>(asked[kSignal]);
    if (asked[kStop] != 0 || stopped_by_ != 0) control_.stop();
    const bool is_asked = static_cast<int64_t>(asked[kSaves]) > saves_;
    const bool needs_losses = control_.stopped() || is_asked || asked[kDue] != 0 || asked[kFiles] != 0;
    if (needs_losses && steps_->begun() > 0) {
      end_steps(0);
      agreement_.await_callbacks();
    }
    saves_ = std::max(saves_, static_cast<int64_t>(asked[kSaves]));
    if (saving_ && saving_->is_open() && asked[kBusy] == 0) saving_->advance();
    if (saving_ && (asked[kDue] != 0 || (is_asked && !timer_->has_begun(step)))) save(step);
    elapsed_ = asked[kElapsed];
    const auto needed = static_cast<RequestedFiles::Needed>(asked[kFiles]);
    if (needed != RequestedFiles::Needed::nothing || files_.is_asked()) files_.write(needed, position_at(step));
  }

  const TrainingRun& run_;
  Communicator& comm_;
  RankRun& rank_;
  LoopEvents events_{run_, comm_};
  Agreement agreement_{run_.program, rank_, run_.own_process};
  std::optional<Recorder> recorder_;
  std::optional<TrainingSteps> steps_;
  std::vector<StepInfo> ended_;  // steps whose times were not reported
  bool waits_ = true;            // whether the next step has to end before the one after it begins
  std::optional<Trace> trace_;
  std::optional<CheckpointSaving> saving_;
  std::optional<CheckpointTimer> timer_;  // with `saving_`
  const Clock::time_point begin_ = Clock::now();
  double elapsed_ = 0;                     // seconds since `begin_`, agreed on by all ranks
  int64_t saves_ = 0;                      // checkpoints requested by signals and begun
  bool own_callback_failed_ = false;       // whether a callback of this rank has failed
  int stopped_by_ = 0;                     // number of the signal; 0: none
  TrainControl control_, unacknowledged_;  // `unacknowledged_`: requests of observers on other ranks
  RequestedFiles files_{run_, rank_};
  TrainingResult result_;
  EpochSoFar epoch_;
  Validations validations_{run_, rank_};
  /// Texts of callbacks before the end of a partial last epoch, which a resumed training completes.
  std::optional<std::map<std::string, KeptText>> kept_;
};

}  // namespace

std::string run_training(const TrainingRun& run, Communicator& comm) {
  if (run.resumed == nullptr) {
    RankRun rank(run.program, run.begin, run.rank, comm);
    Loop(run, rank, comm).train();
    return "";
  }
  RankOutcome outcome;
  std::optional<CheckpointReader> reader(*run.resumed);
  RankRun rank(
      run.program,
      [&](const std::string& name, const Box& box, DType dtype, void* to) {
        if (outcome.is_good()) outcome = outcome_of([&] { reader->read(name, box, dtype, to); });
      },
      run.rank, comm);
  reader.reset();
  outcome = agreed(outcome, comm);  // if one rank cannot read its part, all ranks end
  if (comm.rank() == 0 || run.own_process) run.resumed->close_files();
  if (outcome.code == ExitCode::bad_input) return outcome.error;
  if (!outcome.is_good()) throw RuntimeFailure(outcome.code, outcome.error);
  Loop(run, rank, comm).train();
  return "";
}

}  // namespace partita
