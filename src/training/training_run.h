#pragma once
// The loop over the steps of a training, on each of its ranks.

#include "job/lr_schedule.h"
#include "runtime/checkpoint/checkpoint_saving.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/launch/owner_lock.h"
#include "runtime/launch/signals.h"
#include "training/callbacks.h"
#include "training/evaluation.h"
#include "training/rank_run.h"
#include "training/trace.h"

namespace partita {

struct TrainingResult {
  States states;     // where they are kept
  int64_t step = 0;  // steps taken
  std::optional<double> learning_rate;
  int stopped_by = 0;            // a signal
  int64_t saved_step = -1;       // of the last checkpoint
  std::string checkpoint_error;  // why the last one was not written
};

/// What all ranks of a training know.
struct TrainingRun {
  const Program& program;
  DatasetPtr rows;
  int64_t batch = 0;  // global
  LrSchedule schedule;
  RankOptions rank;
  TrainInfo info;
  std::vector<Callback*> callbacks;                // called on rank 0
  std::vector<Callback*> observers;                // called in every process
  const CheckpointOptions* checkpoints = nullptr;  // where it is saved; none: nowhere
  OwnerLock* owner = nullptr;                      // of their folder, in the process of rank 0
  FillState begin{};                               // the states it begins with; called on all ranks at once
  const CheckpointReader* resumed = nullptr;       // in place of these
  std::function<SignalRequests()> signals{};       // asked after each step, on rank 0 and in every process
  TrainingPosition position{};                     // of the first step
  std::string plan{};                              // for checkpoints, on rank 0
  const Evaluation* validation = nullptr;          // after every epoch
  std::optional<double> learning_rate;             // of a training that goes on, when a callback had set it
  TraceOptions trace{};
  bool measures_communication = false;  // StepInfo::exposed_communication
  std::function<void(const std::string&)> warn{};
  bool own_process = false;            // ranks are processes: each has callbacks and a result of its own
  bool keeps_states = true;            // as a whole, on rank 0 and in every process
  const Evaluation* test = nullptr;    // of the states at the end, unless a signal ended it
  EvaluationProgress test_progress{};  // called on rank 0
  /// Called on rank 0, and in every process, behind the last step and before the test.
  std::function<void(TrainingResult&&)> ended{};
  /// The same behind it.
  std::function<void(const Metrics&)> tested{};
  /// Writes a checkpoint; called on rank 0, and in every process whose observers ask for one, by any thread. `boxes`:
  /// metadata that say what of their values `states` are, where they are not whole.
  std::function<void(const std::string& path, const States& states, const Metadata& boxes, int64_t step,
                     const std::optional<double>& learning_rate)>
      save;
};

/// Trains; all ranks of `comm` take part. Gives why the checkpoint that it was to begin with is damaged, the same on
/// all ranks, and has not trained then; "" otherwise.
std::string run_training(const TrainingRun& run, Communicator& comm);

}  // namespace partita
