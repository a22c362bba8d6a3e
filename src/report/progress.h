#pragma once
// A line on a terminal that is drawn anew while a training runs.

#include <chrono>
#include <ostream>

#include "training/callbacks.h"

namespace partita {

/// "epoch 2/10 step 45/78 loss 1.8342 1512 samples/s 3:12 left", at most ten times a second; after each epoch a line
/// that stays: its number, mean loss, validation accuracy and time. Only for a terminal, which knows how to go back to
/// the start of a line and to erase it.
class ProgressLine : public Callback {
 public:
  explicit ProgressLine(std::ostream& out) : out_(out) {}
  ~ProgressLine() override;
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  TrainInfo train_;
  double step_seconds_ = 0;  // smoothed
  Clock::time_point drawn_;
  bool open_ = false;  // a line is there that does not stay
};

/// Whether standard output is a terminal that understands ProgressLine.
bool is_terminal();

}  // namespace partita
