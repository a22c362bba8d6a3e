#pragma once
// What the next training of a model begins with, in place of the states that the model has.

#include <functional>

#include "job/config.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// A checkpoint that the next training goes on from. Only that training reads it.
class ResumePoint {
 public:
  using Tell = std::function<void(const std::string&)>;

  /// A file, the folder of a checkpoint, a folder of them, or kLatestCheckpoint.
  void set(const std::string& path) { path_ = path; }
  const std::string& path() const { return path_; }
  bool is_set() const { return !path_.empty(); }
  /// Takes kLatestCheckpoint for the newest checkpoint of `folder`. Where there is none the training begins, which
  /// `tell` is called with.
  void find_latest(const std::string& folder, const Tell& warn, const Tell& tell);
  /// The checkpoint folders that the training may begin with, the one that is to be taken last; none where it begins
  /// with no folder. Throws MissingFile and InvalidFile.
  std::vector<FoundCheckpoint> folders(const Tell& warn) const;
  /// Where the training goes on: at the checkpoint of `reader`, else at the file that was set, whose states it reads
  /// into `states`, else at `fresh`. Throws InvalidFile for a checkpoint of another training.
  TrainingPosition position(const JobConfig& config, const Graph& graph, const CheckpointReader* reader,
                            const TrainingPosition& fresh, States& states) const;

 private:
  std::string path_;
};

/// Keeps other jobs from saving to a folder of checkpoints.
class CheckpointHold {
 public:
  /// Holds `folder` until another one is held. `waits`: for an earlier attempt of the same job to end. Throws
  /// RuntimeFailure(cannot_write), naming the process that holds it.
  void hold(const std::string& folder, bool waits, const OwnerLock::Warn& warn);
  OwnerLock* lock() { return lock_ ? &*lock_ : nullptr; }

 private:
  std::string folder_;
  std::optional<OwnerLock> lock_;
};

}  // namespace partita
