#pragma once
// Files that callbacks request after a step.

#include "runtime/checkpoint/background_writer.h"
#include "training/rank_run.h"
#include "training/report/callbacks.h"

namespace partita {

struct TrainingRun;

/// One rank's part of writing the files. All ranks gather whole states; each rank writes its own parts alone.
class RequestedFiles {
 public:
  /// States that the ranks have to gather. The maximum over the ranks applies.
  enum class Needed { nothing, on_first, on_all };

  /// The arguments outlive the object.
  RequestedFiles(const TrainingRun& run, RankRun& rank) : run_(run), rank_(rank) {}

  void ask_for(std::set<RequestedFile> files) { files_ = std::move(files); }
  Needed needed() const;
  /// Whether files are asked for.
  bool is_asked() const { return !files_.empty(); }
  /// Writes the files of `ask_for`, in the background where they say so, and forgets the requests. `position` is
  /// stored with the states. `needed` is the maximum of `needed()` over the ranks; unless it is
  /// `nothing`, the call is collective. Throws RuntimeFailure: if a rank is lost or makes other calls; out_of_memory if
  /// a thread cannot be started; cannot_write for a file that cannot be written and non_finite for a state that is not
  /// finite, also for an earlier file in the background.
  void write(Needed needed, const TrainingPosition& position);
  /// Waits until everything is written. Throws the RuntimeFailure, cannot_write or non_finite, of a write in the
  /// background.
  void finish() { writer_.finish(); }

 private:
  bool is_whole(const RequestedFile& file) const;

  const TrainingRun& run_;
  RankRun& rank_;
  std::set<RequestedFile> files_;
  BackgroundWriter writer_;
};

}  // namespace partita
