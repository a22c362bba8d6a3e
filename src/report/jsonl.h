#pragma once
// One JSON object per line: for each step {"step", "epoch", "loss", "learning_rate", "step_seconds",
// "samples_per_second", "exposed_communication_seconds" (of the first rank, where it is measured)}, for each epoch with
// a validation {"step", "epoch", "validation_loss", "validation_accuracy"}.

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/owner_lock.h"
#include "training/callbacks.h"

namespace partita {

/// Begins its file when a training begins, and not before; of a training that goes on it keeps the lines of the steps
/// taken before. Writes each line at once, so that a log can be followed. A log that cannot be opened, or that another
/// job writes, throws RuntimeFailure(cannot_write) and stays as it is; one that cannot be written any more is left,
/// with one warning: the training goes on.
class JsonLines : public Callback {
 public:
  using Warn = std::function<void(const std::string&)>;
  JsonLines(std::string path, Warn warn);
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;

 private:
  void write(const std::string& line);

  std::string path_;
  Warn warn_;
  std::optional<OwnerLock> lock_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  int64_t step_ = 0;  // the last one
};

}  // namespace partita
