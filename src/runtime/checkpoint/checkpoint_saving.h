#pragma once
// Saves a training to a folder of checkpoints, step by step, while it goes on (docs/guide/checkpoints.md).

#include "compiler/compile.h"
#include "runtime/checkpoint/background_writer.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/piece_reader.h"
#include "runtime/checkpoint/share_copy.h"
#include "runtime/checkpoint/shares.h"
#include "runtime/execute/executor.h"
#include "runtime/launch/outcome.h"
#include "runtime/launch/owner_lock.h"

namespace partita {

/// Where, when and how a training is saved.
struct CheckpointOptions {
  std::string folder{};
  int64_t every = 0;         // steps; 0: at the end alone, or as `seconds` says
  double seconds = 0;        // since the last one began; 0: as `every` says
  int64_t keep = 5;          // whole checkpoints that stay; 0: all
  bool asynchronous = true;  // the next steps run while a copy of the states is written
  bool integrated = false;   // whole tensors, gathered and written by the first rank
  bool stop_on_error = false;
};

/// What a checkpoint has besides the states.
struct TrainingMoment {
  TrainingPosition position;
  double losses = 0;
  int64_t losses_steps = 0;
  std::string plan{};                              // as a text that a training takes; "" where there is none
  std::map<std::string, std::string> callbacks{};  // on rank 0
};

/// The states of a program and who holds them.
std::vector<HeldState> held_states(const Program& program);

/// Of each stage of a program, for people.
std::string print_meshes(const Program& program);

/// One rank's part of saving. All ranks call its functions at the same points of a training, but for `is_busy`.
///
/// Each rank writes its share to a file of its own; when all have, the first one writes the manifest, which makes a
/// checkpoint of the files. Asynchronously both are done by a thread of the rank, from a copy of its share.
class CheckpointSaving {
 public:
  /// The arguments outlive the object. `warn` is called on rank 0 with what went wrong when the training goes on.
  /// `owner`: the lock of the folder, which rank 0 holds; nullptr: nobody else writes there.
  CheckpointSaving(const CheckpointOptions& options, const Program& program, const Executor& executor,
                   Communicator& comm, std::function<void(const std::string&)> warn = nullptr,
                   OwnerLock* owner = nullptr);
  ~CheckpointSaving();

  /// This rank still writes. Not collective.
  bool is_busy() const { return writer_.is_busy(); }
  /// Something was begun that is not yet complete, on any rank.
  bool is_open() const { return phase_ != Phase::idle; }
  /// The next phase, when no rank is busy: errors are known from here on. Throws RuntimeFailure when the training is
  /// to end.
  void advance();
  /// Begins a checkpoint, after the one before is complete.
  void save(const TrainingMoment& moment);
  /// Until nothing is open.
  void finish();

  /// The step of the last checkpoint that is whole; -1: none.
  int64_t last_saved() const { return saved_step_; }
  /// Why the last one could not be saved; "" when it could.
  const std::string& error() const { return error_; }
  /// Seconds that the last `save` kept the training from going on, on this rank.
  double stall_seconds() const { return stall_seconds_; }

 private:
  enum class Phase { idle, writing, committing };
  /// Copies what this rank writes; collective where the first rank writes all.
  void copy_share();
  const std::vector<ShardPiece>& own_pieces() const { return pieces_[static_cast<size_t>(comm_.rank())]; }
  const StageExecutor& stage_of(const std::string& name) const;
  void write_share();
  void commit();
  /// The folder may have been removed, and be another job's by now. Throws RuntimeFailure(cannot_write) then.
  void require_owner();
  /// In the background, or at once.
  void start(std::function<void()> job);
  RankOutcome wait();
  /// All ranks have written: their digests make the manifest of rank 0.
  void gather_digests();
  void end(const RankOutcome& outcome);

  const CheckpointOptions& options_;
  const Program& program_;
  const Executor& executor_;
  Communicator& comm_;
  std::function<void(const std::string&)> warn_;
  OwnerLock* owner_;
  std::vector<HeldState> states_;
  std::vector<std::vector<ShardPiece>> pieces_;  // what each rank writes
  std::vector<PieceReader> readers_;             // of each piece of this rank
  Phase phase_ = Phase::idle;
  const bool has_free_core_;       // checksums of the copy are the writing thread's, since steps do not wait for it
  std::optional<ShareCopy> copy_;  // of this rank's share; none: it is written at once
  std::vector<Array> gathered_;    // in place of a copy, on the first rank
  std::vector<PieceReader::Memory> memories_{1};  // for each compute thread
  std::string begun_;                             // the folder that is written
  Manifest manifest_;                             // of the one that is open
  ShardDigest digest_;
  int64_t saved_step_ = -1;
  std::string error_;
  double stall_seconds_ = 0;
  RankOutcome written_;      // by the writer's last job
  BackgroundWriter writer_;  // last: it uses the others
};

}  // namespace partita
