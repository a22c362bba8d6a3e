#pragma once
// What a program can observe of a training. Callbacks run on rank 0, observers in every process, between steps.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "base/shape.h"
#include "training/metrics.h"

namespace partita {

struct Program;

struct StepInfo {
  int64_t epoch = 1;        // from 1
  int64_t step = 1;         // in the epoch, from 1
  int64_t global_step = 1;  // since the training began, from 1
  double loss = 0;
  double seconds = 0;   // of this step
  int64_t samples = 0;  // of the global batch
  double learning_rate = 0;
  double elapsed = 0;  // seconds of the training up to the step before, the same in all processes
  /// Seconds in which the rank computed nothing because it communicated or waited for others; when they are measured.
  std::optional<double> exposed_communication{};
};

struct EpochInfo {
  int64_t epoch = 1;
  int64_t steps = 0;         // that the epoch has had
  int64_t steps_before = 0;  // of these, before the training went on from a checkpoint: in another process
  double seconds = 0;        // of the other steps
  double loss = 0;           // mean over all steps
  std::optional<double> exposed_communication{};  // seconds, of the other steps
  std::optional<Metrics> validation;              // when rows for it were given
};

/// A file that a callback asks for.
struct RequestedFile {
  std::string path;
  bool own_part = false;    // what the ranks of this process hold alone, in place of whole states
  bool background = false;  // the next steps run while it is written
  auto operator<=>(const RequestedFile&) const = default;
};

/// What a callback may ask for when the training begins and after each step and epoch: the ranks agree on it before
/// the next step.
class TrainControl {
 public:
  /// No step after this one.
  void stop() { stop_ = true; }
  /// Of all steps from the next on, in place of the schedule's. Throws InvalidArgument unless finite and >= 0.
  void set_learning_rate(double rate);
  /// Writes a checkpoint of the step that has just ended (Model::save_checkpoint).
  void save_checkpoint(const std::string& path) { save({.path = path}); }
  void save(const RequestedFile& file) { files_.insert(file); }
  /// The whole values of a state as the last step left it: the other ranks take part while they wait for callbacks.
  /// Throws InvalidArgument for a name that is none, and unless it is called within an event, by its thread.
  Array state(const std::string& name) const;
  void read_states_by(std::function<Array(const std::string&)> read) { read_ = std::move(read); }

  bool stopped() const { return stop_; }
  const std::optional<double>& learning_rate() const { return learning_rate_; }
  /// What was asked for, once.
  std::set<RequestedFile> take_files() { return std::exchange(files_, {}); }

 private:
  bool stop_ = false;
  std::optional<double> learning_rate_;
  std::set<RequestedFile> files_;
  std::function<Array(const std::string&)> read_;
};

struct TrainInfo {
  int64_t epochs = 0;
  int64_t steps_per_epoch = 0;
  int64_t steps = 0;                 // that will be taken, when nothing ends the training before
  int64_t first_step = 0;            // taken before, when a training goes on
  TrainControl* control = nullptr;   // lives as long as the training
  const Program* program = nullptr;  // and so does what runs
};

class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(const TrainInfo&) {}
  virtual void on_step_end(const StepInfo&) {}
  virtual void on_epoch_end(const EpochInfo&) {}
  virtual void on_train_end() {}
  /// Under this name a checkpoint keeps what `saved` gives; "": it keeps nothing.
  virtual std::string kept_as() const { return ""; }
  virtual std::string saved() const { return ""; }
  /// Behind on_train_begin, when a training goes on from a checkpoint that has something under its name. Throws
  /// InvalidFile for a text that `saved` does not give.
  virtual void restore(const std::string&) {}
};

/// "epoch: 1 step: 20, loss is 0.31" after every `per_print_times` steps; 0 prints nothing.
class LossMonitor : public Callback {
 public:
  LossMonitor(std::ostream& out, int64_t per_print_times = 1) : out_(out), every_(per_print_times) {}
  void on_step_end(const StepInfo& info) override;

 private:
  std::ostream& out_;
  int64_t every_;
};

/// "epoch time: 1234.5 ms, per step time: 12.3 ms" after every epoch, and ", exposed communication: 1.2 ms" of a step
/// where it is measured: of the steps that this process took.
class TimeMonitor : public Callback {
 public:
  explicit TimeMonitor(std::ostream& out) : out_(out) {}
  void on_epoch_end(const EpochInfo& info) override;

 private:
  std::ostream& out_;
};

/// "epoch: 1, test loss is 0.31, test accuracy is 0.9021" after every epoch with a validation.
class ValidationMonitor : public Callback {
 public:
  explicit ValidationMonitor(std::ostream& out) : out_(out) {}
  void on_epoch_end(const EpochInfo& info) override;

 private:
  std::ostream& out_;
};

/// Ends a training when a number of each epoch has not become better, by more than `min_delta`, for more than
/// `patience` epochs in a row; a NaN is never better.
class EarlyStopping : public Callback {
 public:
  struct Options {
    int64_t patience = 0;
    double min_delta = 0;
    bool larger_is_better = false;
    /// Of an epoch; when empty the loss: that of the validation, or else of the training.
    std::function<double(const EpochInfo&)> monitor;
  };
  EarlyStopping(Options options, std::ostream& out);
  void on_train_begin(const TrainInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;
  std::string kept_as() const override { return "early_stopping"; }
  std::string saved() const override;
  void restore(const std::string& text) override;

 private:
  Options options_;
  std::ostream& out_;
  TrainControl* control_ = nullptr;
  double best_ = 0;
  int64_t waited_ = 0;
};

/// Sets the learning rate of the next step to a function of the last one and of the steps taken.
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

/// Asks for a checkpoint after every `every` steps and after the last one; each replaces the one before as a whole.
/// Stands behind callbacks that may stop the training.
class CheckpointSaver : public Callback {
 public:
  /// `every` 0: after the last step alone. Throws InvalidArgument when it is negative.
  CheckpointSaver(std::string path, int64_t every);
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;

 private:
  std::string path_;
  int64_t every_, last_ = 0;
  TrainControl* control_ = nullptr;
};

/// From functions; the empty ones are skipped.
class LambdaCallback : public Callback {
 public:
  std::function<void(const TrainInfo&)> train_begin;
  std::function<void(const StepInfo&)> step_end;
  std::function<void(const EpochInfo&)> epoch_end;
  std::function<void()> train_end;

  void on_train_begin(const TrainInfo& info) override {
    if (train_begin) train_begin(info);
  }
  void on_step_end(const StepInfo& info) override {
    if (step_end) step_end(info);
  }
  void on_epoch_end(const EpochInfo& info) override {
    if (epoch_end) epoch_end(info);
  }
  void on_train_end() override {
    if (train_end) train_end();
  }
};

}  // namespace partita
