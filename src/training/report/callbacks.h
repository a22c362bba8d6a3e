#pragma once
// Callbacks and observers of a training. Callbacks run on rank 0, observers in every process, both between steps.

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "base/shape.h"
#include "training/report/metrics.h"

namespace partita {

struct Program;

struct StepInfo {
  int64_t epoch = 1;        // counted from 1
  int64_t step = 1;         // within the epoch, counted from 1
  int64_t global_step = 1;  // since the training began, counted from 1
  double loss = 0;
  bool skipped = false;   // whether the loss or a gradient was not finite, so nothing was updated
  double loss_scale = 1;  // factor of the loss that is differentiated
  double seconds = 0;     // seconds of this step
  int64_t samples = 0;    // rows of the global batch
  double learning_rate = 0;
  double elapsed = 0;  // seconds of the training when the ranks last agreed, the same in all processes
  /// Seconds in which the rank communicated or waited and computed nothing; none if it is not measured.
  std::optional<double> exposed_communication{};
  std::optional<int64_t> memory{};  // resident bytes of this process; none if it is not measured
};

struct EpochInfo {
  int64_t epoch = 1;
  int64_t steps = 0;         // steps of the epoch
  int64_t steps_before = 0;  // steps of these that were taken before the training was resumed, in another process
  double seconds = 0;        // seconds of the steps taken in this process
  double loss = 0;           // mean over the steps of the epoch whose loss is finite; NaN if none is
  std::optional<double> exposed_communication{};  // seconds, of the steps taken in this process
  std::optional<Metrics> validation;              // none without validation rows
};

/// A validation after a step.
struct ValidationInfo {
  int64_t epoch = 1;        // counted from 1
  int64_t step = 1;         // within the epoch, counted from 1
  int64_t global_step = 1;  // since the training began, counted from 1
  bool ends_epoch = false;  // whether an EpochInfo with the same metrics follows
  const Metrics& metrics;
};

/// A checkpoint file that a callback requests.
struct RequestedFile {
  std::string path;
  bool own_part = false;    // only the states that the ranks of this process hold, in place of whole states
  bool background = false;  // whether the next steps run while it is written
  auto operator<=>(const RequestedFile&) const = default;
};

/// Requests of a callback when the training begins and after each step and epoch. The ranks agree on them before the
/// next step.
class TrainControl {
 public:
  /// Requests that the training end before its next step.
  void stop() { stop_ = true; }
  /// Sets the learning rate of all following steps, in place of the schedule's. Throws InvalidArgument unless it is
  /// finite and >= 0; the next step throws it for a rate that is infinite in the type of the network.
  void set_learning_rate(double rate);
  /// Sets the learning rates of the steps from `first`, counted from 0, and with the last one those of all steps after
  /// them, so that these steps can begin before a callback has heard of the ones before. Until then the rate that step
  /// `first` - 1 had stays. Throws as `set_learning_rate` does, and InvalidArgument if there is no rate.
  void set_learning_rates(int64_t first, std::vector<double> rates);
  /// Requests a checkpoint of the step that has just ended, as the file `path` (Model::save_checkpoint). It is written
  /// before the next step.
  void save_checkpoint(const std::string& path) { save({.path = path}); }
  void save(const RequestedFile& file) { files_.insert(file); }
  /// Requests the checkpoint of the step that has just ended in the training's folder, if it has one. Unlike others, it
  /// is kept until another one takes its place, next to the newest ones.
  void keep_best(int64_t step) {
    best_step_ = step;
    saves_best_ = true;
  }
  /// Says which checkpoint of an earlier part of the training is kept.
  void set_best_step(int64_t step) { best_step_ = step; }
  /// Returns the whole values of a state after the last step. The other ranks take part while they wait for callbacks.
  /// Throws InvalidArgument for an unknown name, if this control belongs to no training, and outside of the events of
  /// callbacks or on another thread than theirs; RuntimeFailure if another rank is lost or memory is lacking.
  Array state(const std::string& name) const;
  void read_states_by(std::function<Array(const std::string&)> read) { read_ = std::move(read); }

  bool stopped() const { return stop_; }
  /// Returns the step of the checkpoint that is kept; -1: none.
  int64_t best_step() const { return best_step_; }
  /// Returns whether the best checkpoint is requested, and clears the request.
  bool take_best() { return std::exchange(saves_best_, false); }
  /// Returns the learning rate of a step, counted from 0; none if it is the schedule's.
  std::optional<double> learning_rate(int64_t step) const;
  /// Returns the requested files and clears them.
  std::set<RequestedFile> take_files() { return std::exchange(files_, {}); }

 private:
  bool stop_ = false, saves_best_ = false;
  int64_t best_step_ = -1;
  std::optional<double> learning_rate_;  // none: that of the schedule
  int64_t first_ = 0;                    // the step of the first one of `rates_`
  std::vector<double> rates_;
  std::set<RequestedFile> files_;
  std::function<Array(const std::string&)> read_;
};

struct TrainInfo {
  int64_t epochs = 0;
  int64_t steps_per_epoch = 0;
  int64_t steps = 0;                 // steps of the whole training, if nothing ends it early
  int64_t first_step = 0;            // steps taken before the training was resumed
  TrainControl* control = nullptr;   // valid for the whole training
  const Program* program = nullptr;  // valid for the whole training
  /// Names of the measured losses: the function, the network and the rows. That of the validation is "" without one,
  /// and if no callback keeps a text.
  std::string training_loss{}, validation_loss{};
  int64_t good_steps = 0;  // in a row before the first step, since a dynamic scale of the loss changed
};

class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(const TrainInfo&) {}
  virtual void on_step_end(const StepInfo&) {}
  /// Whether `on_step_end` of a step, `global_step` of StepInfo, may be called when the next one has begun, so that an
  /// accelerator does not wait for it. The callback then requests nothing of TrainControl and reads no state.
  virtual bool may_lag(int64_t /*global_step*/) const { return false; }
  /// Called after each validation, also that of an epoch, whose on_epoch_end follows.
  virtual void on_validation(const ValidationInfo&) {}
  virtual void on_epoch_end(const EpochInfo&) {}
  virtual void on_train_end() {}
  /// Returns the key under which checkpoints store the result of `saved`; "", as by default, stores nothing.
  virtual std::string kept_as() const { return ""; }
  virtual std::string saved() const { return ""; }
  /// Returns what the result of `saved` measures, such as "lowest " + TrainInfo::validation_loss; after on_train_begin.
  /// "", as by default: both losses of TrainInfo.
  virtual std::string measures() const { return ""; }
  /// Restores a text of `saved`; the default does nothing. Called on rank 0 after on_train_begin when a training is
  /// resumed from a checkpoint that has an entry under `kept_as` which measures the same. If it measures something
  /// else, the callback begins anew, and a warning says so. Overrides throw InvalidFile for a text that `saved` does
  /// not write.
  virtual void restore(const std::string&) {}
};

/// Prints "epoch: 1 step: 20, loss is 0.31" every `per_print_times` steps; 0 prints nothing. With `and_last` also after
/// the last step of the training.
class LossMonitor : public Callback {
 public:
  LossMonitor(std::ostream& out, int64_t per_print_times = 1, bool and_last = false)
      : out_(out), every_(per_print_times), and_last_(and_last) {}
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  bool may_lag(int64_t) const override { return true; }

 private:
  std::ostream& out_;
  int64_t every_;
  bool and_last_;
  int64_t last_ = 0;
};

/// Prints "epoch time: 1234.5 ms, per step time: 12.3 ms" after every epoch, and ", exposed communication: 1.2 ms" per
/// step if it is measured. Only steps taken in this process count.
class TimeMonitor : public Callback {
 public:
  explicit TimeMonitor(std::ostream& out) : out_(out) {}
  bool may_lag(int64_t) const override { return true; }
  void on_epoch_end(const EpochInfo& info) override;

 private:
  std::ostream& out_;
};

/// Prints "epoch: 1, test loss is 0.31, test accuracy is 0.9021" after every epoch with a validation, with the other
/// metrics that are measured. After other validations the line begins with "epoch: 1 step: 20".
class ValidationMonitor : public Callback {
 public:
  explicit ValidationMonitor(std::ostream& out) : out_(out) {}
  bool may_lag(int64_t) const override { return true; }
  void on_validation(const ValidationInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;

 private:
  void print(const std::string& when, const Metrics& metrics);

  std::ostream& out_;
};

/// EarlyStopping::kept_as.
inline constexpr const char* kEarlyStoppingKey = "early_stopping";

/// Ends a training, and prints so to `out`, if a value of each epoch has not improved by more than `min_delta` for more
/// than `patience` epochs in a row. NaN is never an improvement. The constructor throws InvalidArgument unless
/// `patience` and `min_delta` are at least 0.
class EarlyStopping : public Callback {
 public:
  struct Options {
    int64_t patience = 0;
    double min_delta = 0;
    bool larger_is_better = false;
    /// Value of an epoch. If empty: the validation loss, or the training loss without a validation.
    std::function<double(const EpochInfo&)> monitor;
    std::string monitored{};  // name of what `monitor` returns; checkpoints of another name are not gone on with
    /// Name of a metric that is monitored after each validation, in place of `monitor` after each epoch; "": none.
    /// Whether lower is better follows from the metric.
    std::string metric{};
  };
  EarlyStopping(Options options, std::ostream& out);
  bool may_lag(int64_t) const override { return true; }
  void on_train_begin(const TrainInfo& info) override;
  void on_validation(const ValidationInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;
  std::string kept_as() const override { return kEarlyStoppingKey; }
  std::string saved() const override;
  std::string measures() const override { return measures_; }
  void restore(const std::string& text) override;

 private:
  void add(double number, int64_t epoch, std::string_view unit);

  Options options_;
  std::ostream& out_;
  TrainControl* control_ = nullptr;
  double best_ = 0;
  int64_t waited_ = 0;
  std::string measures_;
};

/// Keeps the checkpoint of the validation with the best value of a metric (TrainControl::keep_best). NaN is never
/// better.
class BestCheckpoint : public Callback {
 public:
  explicit BestCheckpoint(std::string metric) : metric_(std::move(metric)) {}
  bool may_lag(int64_t) const override { return true; }
  void on_train_begin(const TrainInfo& info) override;
  void on_validation(const ValidationInfo& info) override;
  std::string kept_as() const override { return "best_checkpoint"; }
  std::string saved() const override;
  std::string measures() const override { return measures_; }
  void restore(const std::string& text) override;

 private:
  std::string metric_, measures_;
  TrainControl* control_ = nullptr;
  int64_t step_ = -1;  // step of the best value; -1: none
  double best_ = 0;
};

/// Sets the learning rate of the next step to a function of the current rate and the number of steps taken. Throws at
/// the end of a step: InvalidArgument if the result is negative or not finite, and what the function throws.
class LearningRateScheduler : public Callback {
 public:
  using Function = std::function<double(double learning_rate, int64_t global_step)>;
  explicit LearningRateScheduler(Function function) : function_(std::move(function)) {}
  void on_train_begin(const TrainInfo& info) override { control_ = info.control; }
  void on_step_end(const StepInfo& info) override {
    control_->set_learning_rate(function_(info.learning_rate, info.global_step));
  }

 private:
  Function function_;
  TrainControl* control_ = nullptr;
};

/// Requests a checkpoint every `every` steps and after the last step, also if a callback stops the training. Requests
/// one at the beginning if no step is left. Each checkpoint replaces the previous one as a whole. Must come after
/// callbacks that may stop the training.
class CheckpointSaver : public Callback {
 public:
  /// `every` 0: only after the last step. Throws InvalidArgument if it is negative.
  CheckpointSaver(std::string path, int64_t every);
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  bool may_lag(int64_t global_step) const override { return !is_due(global_step); }
  void on_epoch_end(const EpochInfo& info) override;

 private:
  bool is_due(int64_t global_step) const;

  std::string path_;
  int64_t every_, last_ = 0;
  TrainControl* control_ = nullptr;
};

/// Calls functions; empty ones are skipped. Throws what they throw.
class LambdaCallback : public Callback {
 public:
  std::function<void(const TrainInfo&)> train_begin;
  std::function<void(const StepInfo&)> step_end;
  std::function<void(const ValidationInfo&)> validation;
  std::function<void(const EpochInfo&)> epoch_end;
  std::function<void()> train_end;

  void on_train_begin(const TrainInfo& info) override {
    if (train_begin) train_begin(info);
  }
  void on_step_end(const StepInfo& info) override {
    if (step_end) step_end(info);
  }
  bool may_lag(int64_t) const override { return !step_end; }
  void on_validation(const ValidationInfo& info) override {
    if (validation) validation(info);
  }
  void on_epoch_end(const EpochInfo& info) override {
    if (epoch_end) epoch_end(info);
  }
  void on_train_end() override {
    if (train_end) train_end();
  }
};

}  // namespace partita
