#pragma once
// One JSON object per step: {"step", "epoch", "loss", "step_seconds", "samples_per_second"}.

#include <cstdio>
#include <memory>
#include <string>

#include "train/callbacks.h"

namespace partita {

/// Begins its file anew when a training begins, and not before; of one that goes on it keeps the lines up to the steps
/// that were taken, and drops those that an interrupted run wrote behind them. Writes each line at once, so that a log
/// can be followed. Throws RuntimeFailure(cannot_write).
class JsonLines : public Callback {
 public:
  explicit JsonLines(std::string path);
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace partita
