#pragma once
// Saves a training to a folder of checkpoints while it continues (docs/guide/checkpoints.md).

#include "compiler/compile.h"
#include "runtime/checkpoint/background_writer.h"
#include "runtime/checkpoint/checkpoint_options.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/piece_reader.h"
#include "runtime/checkpoint/share_copy.h"
#include "runtime/checkpoint/shares.h"
#include "runtime/execute/executor.h"
#include "runtime/launch/outcome.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// The content of a checkpoint besides the states.
struct TrainingMoment {
  TrainingPosition position;  // on rank 0 with the texts of callbacks
  std::string plan{};         // plan as text, in the form that a training reads; "" if there is none
  int64_t best_step = -1;     // step of the checkpoint that is kept besides the newest ones, on rank 0; -1: none
};

/// Returns the states of a program in the order of its graph, each with the ranks of the world that hold it and the box
/// of each of these ranks. If several stages have a state, only the ranks of the lowest stage are listed.
std::vector<HeldState> held_states(const Program& program);

/// Returns the meshes of a program's stages as text for people, in the order of the stages, separated by "; ".
std::string print_meshes(const Program& program);

/// One rank's part of saving. All ranks call its functions at the same points of a training, except `is_busy`.
///
/// Each rank writes its share to a file of its own. When all have, the first rank writes the manifest, which turns the
/// files into a checkpoint. With `asynchronous`, a thread of the rank does both, from a copy of its share.
class CheckpointSaving {
 public:
  /// The referenced arguments must outlive this object, and so must `owner`. `warn`, if given, is called on rank 0 with
  /// the error of each checkpoint that could not be saved, if the training goes on without it. `owner` is the lock of
  /// the folder, which rank 0 holds; nullptr if nobody else writes there.
  CheckpointSaving(const CheckpointOptions& options, const Program& program, const Executor& executor,
                   Communicator& comm, std::function<void(const std::string&)> warn = nullptr,
                   OwnerLock* owner = nullptr);
  ~CheckpointSaving();

  /// Whether this rank is still writing. Not collective.
  bool is_busy() const { return writer_.is_busy(); }
  /// Whether a checkpoint was begun that is neither complete nor given up after an error. The same on all ranks.
  bool is_open() const { return phase_ != Phase::idle; }
  /// Waits until all ranks have ended the current phase. After writing, starts committing; after committing or an
  /// error, closes the checkpoint. Only while a checkpoint is open. Errors of the phase are known afterwards (`error`).
  /// Throws RuntimeFailure if the training has to end: after any error with `stop_on_error`, else after one other than
  /// cannot_write, missing_file and out_of_memory. Throws it too if a rank is lost or the thread that writes cannot be
  /// started (out_of_memory), and what `warn` throws.
  void advance();
  /// Completes the previous checkpoint and begins one, which it completes too unless `asynchronous` is set. After an
  /// error that does not end the training, `error` has the reason. Throws as `advance` does.
  void save(const TrainingMoment& moment);
  /// Advances until no checkpoint is open. Throws as `advance` does.
  void finish();

  /// The step of the last checkpoint that this object has completed; -1 if there is none.
  int64_t last_saved() const { return saved_step_; }
  /// Why the last checkpoint could not be saved; "" if it could, is still open, or there was none.
  const std::string& error() const { return error_; }
  /// Seconds for which the last `save` that could begin a checkpoint held up the training on this rank; 0 before.
  double stall_seconds() const { return stall_seconds_; }

 private:
  enum class Phase { idle, writing, committing };
  /// Copies what this rank writes. If the first rank writes everything, gathers the states on it: a collective call,
  /// which throws RankFailures, or RuntimeFailure(out_of_memory) if a conversion lacks memory. Otherwise throws
  /// RuntimeFailure(non_finite) if an element is NaN or infinite.
  void copy_share();
  const std::vector<ShardPiece>& own_pieces() const { return pieces_[static_cast<size_t>(comm_.rank())]; }
  const StageExecutor& stage_of(const std::string& name) const;
  void write_share();
  void commit();
  /// Renews the lock of the folder, which may have been removed and belong to another job by now; if it does, forgets
  /// the checkpoint's folder, so that it is not removed. Does nothing without an owner. Throws
  /// RuntimeFailure(cannot_write) if another job holds the lock.
  void require_owner();
  /// Waits for the previous job. Then runs `job` in the background, or at once if saving is not asynchronous. Keeps its
  /// outcome, errors included, for `wait`. Throws RuntimeFailure(out_of_memory) if the thread cannot be started.
  void start(std::function<void()> job);
  /// Waits for this rank's job and returns its outcome; a good one if no job was started since the last call.
  RankOutcome wait();
  /// Gathers the digests of all ranks' files into the manifest on rank 0. A collective call. Throws RankFailures.
  void gather_digests();
  /// Closes the checkpoint with the outcome of all ranks. After an error keeps it for `error`, removes what was begun,
  /// and warns on rank 0 unless the training has to end. Throws RuntimeFailure, with the code of the outcome, if it has
  /// to: with `stop_on_error`, or for an error other than cannot_write, missing_file and out_of_memory. Throws what
  /// `warn` throws.
  void end(const RankOutcome& outcome);

  const CheckpointOptions& options_;
  const Program& program_;
  const Executor& executor_;
  Communicator& comm_;
  std::function<void(const std::string&)> warn_;
  OwnerLock* owner_;
  std::vector<HeldState> states_;
  std::vector<std::vector<ShardPiece>> pieces_;  // pieces that each rank writes
  std::vector<PieceReader> readers_;             // per piece of this rank
  Phase phase_ = Phase::idle;
  const bool has_free_core_;                      // then the writer thread computes checksums, off the critical path
  std::optional<ShareCopy> copy_;                 // copy of this rank's share; none: it is written without a copy
  std::vector<Array> gathered_;                   // whole states in place of a copy, on the first rank
  std::vector<PieceReader::Memory> memories_{1};  // per compute thread
  std::string begun_;                             // the folder being written
  Manifest manifest_;                             // manifest of the open checkpoint
  int64_t best_step_ = -1;                        // TrainingMoment::best_step of the open checkpoint
  ShardDigest digest_;
  int64_t saved_step_ = -1;
  std::string error_;
  double stall_seconds_ = 0;
  RankOutcome written_;      // outcome of the writer's last job
  BackgroundWriter writer_;  // last: its jobs use the other members
};

}  // namespace partita
