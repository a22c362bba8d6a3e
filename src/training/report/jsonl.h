#pragma once
// A log of one JSON object per line. Each step has {"step", "epoch", "loss", "learning_rate", "step_seconds",
// "samples_per_second", "exposed_communication_seconds" (of the first rank, if it is measured), "loss_scale" (unless
// 1), "memory_bytes" (resident, of the first process), "skipped": true (of a step that updated nothing)}; a loss that
// is not finite is null. Each epoch with a validation has {"step", "epoch", "validation_loss", "validation_accuracy"}.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/launch/owner_lock.h"
#include "training/report/callbacks.h"

namespace partita {

/// Writes the log. The file is opened when a training begins; a resumed training keeps the lines of the steps taken
/// before. Each line is written at once, so that the log can be followed. A pipe is waited for until it has a reader,
/// and while it is full. If later writes fail, the log is closed with one warning and the training continues.
/// on_train_begin throws RuntimeFailure(cannot_write), and leaves the file as it is, if the log cannot be opened, or
/// not read when a training is resumed; it also throws as the constructor of OwnerLock does, for example if another job
/// writes the log.
class JsonLines : public Callback {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// Opens nothing yet. `warn`: gets the failure of a later write, if given. `must_end`: whether to stop waiting for a
  /// pipe that has no reader or is full; empty: waits without limit.
  JsonLines(std::string path, Warn warn, std::function<bool()> must_end = nullptr);
  ~JsonLines() override { close(); }
  JsonLines& operator=(JsonLines&&) = delete;
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  bool may_lag(int64_t) const override { return true; }
  void on_validation(const ValidationInfo& info) override;

 private:
  void open(bool goes_on);
  void close();
  /// Waits at most 50 ms for one of the `events` of poll on the pipe, or pauses if the pipe is not open. Returns false
  /// if `must_end_` asks to stop waiting.
  bool wait_for_reader(short events) const;
  void write(std::string_view line);

  std::string path_;
  Warn warn_;
  std::function<bool()> must_end_;
  std::optional<OwnerLock> lock_;
  int file_ = -1;
  int64_t step_ = 0;  // last step logged
};

}  // namespace partita
