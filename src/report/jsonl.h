#pragma once
// One JSON object per step: {"step", "epoch", "loss", "step_seconds", "samples_per_second"}.

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "train/callbacks.h"

namespace partita {

/// Begins its file anew when a training begins, and not before; throws RuntimeFailure(cannot_write) when it cannot.
/// Writes each line at once, so that a log can be followed. A line that cannot be written, as on a full disk, is no
/// reason to lose a training: `warn` is called once, and no more is written.
class JsonLines : public Callback {
 public:
  explicit JsonLines(std::string path, std::function<void(const std::string&)> warn = nullptr);
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;

 private:
  std::string failure() const;

  std::string path_;
  std::function<void(const std::string&)> warn_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;  // none after a failure
};

}  // namespace partita
