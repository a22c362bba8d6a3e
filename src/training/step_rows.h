#pragma once
// The rows of the steps of a training on one rank.

#include "frontend/data/loading/prefetch.h"
#include "runtime/trace/recorder.h"
#include "training/rank_run.h"

namespace partita {

/// Reads rows and feeds them to a rank.
class StepRows {
 public:
  /// Starts the threads that read. `ahead` says whether an accelerator gets the rows of the next step ahead. `rank`
  /// outlives the object. Throws as the constructor of Prefetcher does.
  StepRows(RankRun& rank, Batcher batcher, DataPosition start, bool ahead)
      : rank_(rank), rows_(std::move(batcher), PrefetchOptions{}, start), copies_ahead_(ahead) {}

  /// Feeds the rows of the step that begins, which is recorded if `recorder` is not null. Returns whether the
  /// accelerator had them already. Throws what reading them throws, and as `RankRun::feed` does.
  bool feed(Recorder* recorder);
  /// Returns a function that copies the rows of the next step to the device, if they are read by then, for
  /// `Executor::try_step`; an empty one if the device takes none.
  std::function<void()> feeds_next(Recorder* recorder);

 private:
  void read(Recorder* recorder);
  void feed_next(Recorder* recorder) noexcept;

  RankRun& rank_;
  Prefetcher rows_;
  bool copies_ahead_;  // until the device lacks the memory
  Batch batch_;
  /// The state of the step that begins next: nothing is there, its rows in `batch_`, or inputs on the device.
  enum class Ahead { nothing, rows, inputs } ahead_ = Ahead::nothing;
};

}  // namespace partita
