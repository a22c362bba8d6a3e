#include "training/training_run.h"

#include <chrono>

#include "data/loading/prefetch.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Loop {
 public:
  Loop(const TrainingRun& run, const States& initial, Communicator& comm)
      : run_(run),
        comm_(comm),
        rank_(run.program, initial, run.rank, comm),
        rows_(rank_.rows(run.rows, run.batch), PrefetchOptions{},
              {run.info.first_step / run.info.steps_per_epoch, run.info.first_step % run.info.steps_per_epoch}) {
    comm.barrier();
    if (run.states_taken && (comm.rank() == 0 || run.own_process)) run.states_taken();
    if (run.learning_rate) control_.set_learning_rate(*run.learning_rate);
    if (run.measures_communication || !run.trace.path.empty()) {
      recorder_.emplace();
      rank_.executor().record(*recorder_, run.trace.path.empty() ? 0 : run.trace.steps);
    }
    if (!run.trace.path.empty()) trace_.emplace(run.trace, run.program, comm, run.own_process, run.warn);
  }

  TrainingResult train() {
    try {
      return take_steps();
    } catch (const Error& error) {
      // A loss that is not finite ends all ranks at once.
      if (trace_) trace_->rescue(*recorder_, error.code() == ExitCode::non_finite);
      throw;
    } catch (...) {
      if (trace_) trace_->rescue(*recorder_, false);
      throw;
    }
  }

 private:
  TrainingResult take_steps() {
    TrainInfo info = run_.info;
    info.control = comm_.rank() == 0 ? &control_ : &unacknowledged_;
    notify([&](Callback& callback) { callback.on_train_begin(info); });
    begin_epoch();
    int64_t step = info.first_step;
    agree(step);
    while (step < info.steps && !control_.stopped()) {
      const StepInfo taken = take(step++);
      notify([&](Callback& callback) { callback.on_step_end(taken); });
      if (taken.step == info.steps_per_epoch) end_epoch(taken.epoch);
      agree(step);
      if (trace_ && trace_->takes_step()) trace_->end_step(*recorder_);
    }
    if (steps_ > 0) {  // the last epoch was not whole
      end_epoch((step - 1) / info.steps_per_epoch + 1);
      agree(step);
    }
    if (trace_) trace_->finish(*recorder_);
    rank_.executor().keep_states_alone();
    States states = run_.own_process ? rank_.states() : rank_.states_on_first();
    notify([&](Callback& callback) { callback.on_train_end(); });
    return {std::move(states), step, control_.learning_rate()};
  }

  template <class Event>
  void notify(const Event& event) {
    if (comm_.rank() == 0) {
      for (Callback* callback : run_.callbacks) event(*callback);
    }
    if (comm_.rank() == 0 || run_.own_process) {
      for (Callback* observer : run_.observers) event(*observer);
    }
  }

  StepInfo take(int64_t step) {
    const auto begin = Clock::now();
    comm_.begin_step(step + 1);
    if (recorder_) recorder_->begin_step(step + 1, trace_ && trace_->takes_step());
    const double loss = compute(step);
    losses_ += loss;
    ++steps_;
    StepInfo info{.epoch = step / run_.info.steps_per_epoch + 1,
                  .step = step % run_.info.steps_per_epoch + 1,
                  .global_step = step + 1,
                  .loss = loss,
                  .seconds = seconds_since(begin),
                  .samples = run_.batch,
                  .learning_rate = learning_rate_of(step)};
    if (recorder_) {
      info.exposed_communication = recorder_->exposed_seconds();
      exposed_ += recorder_->exposed_seconds();
    }
    return info;
  }

  double compute(int64_t step) {
    const Recorded all(recorder(), {.kind = Span::whole_step});
    {
      const Recorded recorded(recorder(), {.kind = Span::rows});
      rows_.next(batch_);
    }
    {
      const Recorded recorded(recorder(), {.kind = Span::feed});
      rank_.feed(batch_);
      rank_.feed_learning_rate(learning_rate_of(step));
    }
    rank_.executor().step();
    const Recorded recorded(recorder(), {.kind = Span::result});
    return rank_.executor().output("loss").at(0);
  }

  double learning_rate_of(int64_t step) const {
    return control_.learning_rate().value_or(learning_rate_at(run_.schedule, step));
  }
  Recorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }

  void begin_epoch() {
    epoch_begin_ = Clock::now();
    losses_ = 0;
    exposed_ = 0;
    steps_ = 0;
  }

  void end_epoch(int64_t epoch) {
    EpochInfo info{.epoch = epoch,
                   .steps = steps_,
                   .seconds = seconds_since(epoch_begin_),
                   .loss = losses_ / static_cast<double>(steps_)};
    if (recorder_) info.exposed_communication = exposed_;
    if (run_.validation) info.validation = run_.validation->run(rank_);
    notify([&](Callback& callback) { callback.on_epoch_end(info); });
    begin_epoch();
  }

  /// Every rank does what the callbacks of rank 0 asked for.
  void agree(int64_t step) {
    const std::set<std::string> paths = control_.take_checkpoints();
    double asked[] = {control_.stopped() ? 1.0 : 0.0, control_.learning_rate().value_or(-1), paths.empty() ? 0.0 : 1.0};
    {
      const Recorded recorded(recorder(), {.kind = Span::agreement});
      comm_.broadcast(asked, std::size(asked), DType::f64, /*root=*/0);
    }
    if (asked[0] != 0) control_.stop();
    if (asked[1] >= 0) control_.set_learning_rate(asked[1]);
    if (asked[2] == 0) return;
    const States states = rank_.states_on_first();
    if (comm_.rank() != 0) return;
    for (const std::string& path : paths) run_.save(path, states, step, control_.learning_rate());
  }

  const TrainingRun& run_;
  Communicator& comm_;
  RankRun rank_;
  Prefetcher rows_;
  std::optional<Recorder> recorder_;
  std::optional<Trace> trace_;
  TrainControl control_, unacknowledged_;  // `unacknowledged_`: what observers on other ranks ask for
  Batch batch_;
  Clock::time_point epoch_begin_;
  double losses_ = 0;   // of this epoch
  double exposed_ = 0;  // seconds of communication, of this epoch
  int64_t steps_ = 0;   // of this epoch
};

}  // namespace

TrainingResult run_training(const TrainingRun& run, const States& initial, Communicator& comm) {
  return Loop(run, initial, comm).train();
}

}  // namespace partita
