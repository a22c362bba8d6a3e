#pragma once
// The checkpoint from which the next training of a model is resumed, and the hold on a folder of checkpoints.

#include <functional>

#include "job/config.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

class CheckpointReader;
struct FoundCheckpoint;
struct Graph;
struct ModelJob;

/// A checkpoint from which the next training is resumed. Only that training reads it.
class ResumePoint {
 public:
  using Tell = std::function<void(const std::string&)>;

  /// Sets the path: a file, the folder of a checkpoint, a folder of checkpoints, or kLatestCheckpoint.
  void set(const std::string& path) { path_ = path; }
  const std::string& path() const { return path_; }
  bool is_set() const { return !path_.empty(); }
  /// Replaces the path kLatestCheckpoint by `folder`, if that has an undamaged checkpoint. Otherwise clears the path,
  /// so that the training starts from the beginning, and passes a message to `tell`, after those of damaged checkpoints
  /// to `warn`. Other paths stay. Throws as newest_checkpoint does: InvalidFile if all checkpoints are damaged,
  /// MissingFile if the folder cannot be read.
  void find_latest(const std::string& folder, const Tell& warn, const Tell& tell);
  /// Returns the checkpoint folders from which the training may be resumed; the last one is to be tried first. Empty if
  /// the path is a file or not set. `warn`: gets the damaged checkpoints that are left out. Throws MissingFile if the
  /// path does not exist or the folder holds no checkpoint, InvalidFile if all its checkpoints are damaged or, for the
  /// folder of a checkpoint, its manifest is.
  std::vector<FoundCheckpoint> folders(const Tell& warn) const;
  /// Returns where the training starts, with the metadata and measures of `fresh`: at the checkpoint of `reader` if
  /// that is not null, else at the file that was set, whose states it reads into `states`, else at `fresh`. Numbers
  /// that measure something else begin anew, which ModelJob::warn is told (`comparable_part`). Throws InvalidFile for a
  /// checkpoint of other rows, another network or another training (`require_same_training`) and for a damaged file,
  /// MissingFile for a file that cannot be opened.
  TrainingPosition position(const ModelJob& job, const Graph& graph, const CheckpointReader* reader,
                            const TrainingPosition& fresh, States& states) const;

 private:
  std::string path_;
};

/// A lock that keeps other jobs from saving to a folder of checkpoints.
class CheckpointHold {
 public:
  /// Holds `folder` until another one is held. Does nothing if this object holds it already. `waits`: waits for an
  /// earlier attempt of the same job to end. Throws RuntimeFailure(cannot_write), which names the process, if another
  /// job holds it, RuntimeFailure for a signal while it waits, and InvalidArgument for an invalid
  /// PARTITA_STALL_TIMEOUT.
  void hold(const std::string& folder, bool waits, const OwnerLock::Warn& warn);
  OwnerLock* lock() { return lock_ ? &*lock_ : nullptr; }

 private:
  std::string folder_;
  std::optional<OwnerLock> lock_;
};

}  // namespace partita
