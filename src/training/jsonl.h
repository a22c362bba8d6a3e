#pragma once
// One JSON object per line: for each step {"step", "epoch", "loss", "learning_rate", "step_seconds",
// "samples_per_second", "exposed_communication_seconds" (of the first rank, where it is measured)}, for each epoch with
// a validation {"step", "epoch", "validation_loss", "validation_accuracy"}.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/launch/owner_lock.h"
#include "training/callbacks.h"

namespace partita {

/// Begins its file when a training begins, and not before; of a training that goes on it keeps the lines of the steps
/// taken before. Writes each line at once, so that a log can be followed. A log that cannot be opened, or that another
/// job writes, throws RuntimeFailure(cannot_write) and stays as it is; one that cannot be written any more is left,
/// with one warning: the training goes on. A pipe is waited for until it has a reader, and while it is full.
class JsonLines : public Callback {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// `must_end`: whether a pipe that nobody reads is not to be waited for any longer; none: it is waited for.
  JsonLines(std::string path, Warn warn, std::function<bool()> must_end = nullptr);
  ~JsonLines() override { close(); }
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;

 private:
  void open(bool goes_on);
  void close();
  /// Waits a little for a reader of the pipe; false when it is not to be waited for.
  bool wait_for_reader(short events) const;
  void write(std::string_view line);

  std::string path_;
  Warn warn_;
  std::function<bool()> must_end_;
  std::optional<OwnerLock> lock_;
  int file_ = -1;
  int64_t step_ = 0;  // the last one
};

}  // namespace partita
