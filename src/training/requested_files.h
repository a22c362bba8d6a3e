#pragma once
// The files that callbacks ask for behind a step.

#include "runtime/checkpoint/background_writer.h"
#include "training/callbacks.h"
#include "training/rank_run.h"

namespace partita {

struct TrainingRun;

/// One rank's part of writing them: whole states are gathered by all ranks, parts are written by each alone.
class RequestedFiles {
 public:
  /// What the ranks are to gather; of all ranks the largest counts.
  enum class Needed { nothing, on_first, on_all };

  /// The arguments outlive the object.
  RequestedFiles(const TrainingRun& run, RankRun& rank) : run_(run), rank_(rank) {}

  void ask_for(std::set<RequestedFile> files) { files_ = std::move(files); }
  Needed needed() const;
  /// Writes what was asked for; all ranks call it when any of them needs something.
  void write(Needed needed, int64_t step, const std::optional<double>& learning_rate);
  /// Until everything is written; throws what writing in the background has thrown.
  void finish() { writer_.finish(); }

 private:
  bool is_whole(const RequestedFile& file) const;

  const TrainingRun& run_;
  RankRun& rank_;
  std::set<RequestedFile> files_;
  BackgroundWriter writer_;
};

}  // namespace partita
