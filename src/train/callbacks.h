#pragma once
// What a program can watch of a training. Callbacks run on rank 0 only, between steps.

#include <cstdint>
#include <functional>
#include <ostream>

namespace partita {

struct StepInfo {
  int64_t epoch = 1;        // from 1
  int64_t step = 1;         // in the epoch, from 1
  int64_t global_step = 1;  // since the training began, from 1
  double loss = 0;
  double seconds = 0;   // of this step
  int64_t samples = 0;  // of the global batch
  double learning_rate = 0;
};

struct EpochInfo {
  int64_t epoch = 1;
  int64_t steps = 0;
  double seconds = 0;
};

struct TrainInfo {
  int64_t epochs = 0;
  int64_t steps_per_epoch = 0;
};

class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(const TrainInfo&) {}
  virtual void on_step_end(const StepInfo&) {}
  virtual void on_epoch_end(const EpochInfo&) {}
  virtual void on_train_end() {}
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

/// "epoch time: 1234.5 ms, per step time: 12.3 ms" after every epoch.
class TimeMonitor : public Callback {
 public:
  explicit TimeMonitor(std::ostream& out) : out_(out) {}
  void on_epoch_end(const EpochInfo& info) override;

 private:
  std::ostream& out_;
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
