#pragma once
// The loop over the steps of a training, on each of its ranks.

#include "job/learning_rate.h"
#include "runtime/checkpoint/checkpoint_saving.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/launch/owner_lock.h"
#include "runtime/launch/signals.h"
#include "training/evaluation.h"
#include "training/loss_scale.h"
#include "training/rank_run.h"
#include "training/report/callbacks.h"
#include "training/report/run_folder.h"
#include "training/report/trace.h"

namespace partita {

struct TrainingResult {
  States states;                 // whole states, if they are kept
  TrainingPosition position{};   // after the last step
  int stopped_by = 0;            // number of the signal; 0: none
  int64_t saved_step = -1;       // step of the last checkpoint; -1: none
  int64_t restored_step = -1;    // step of the best checkpoint whose weights the states have; -1: none
  std::string checkpoint_error;  // why the last checkpoint was not written
};

/// The description of a training that all ranks share.
struct TrainingRun {
  const Program& program;
  DatasetPtr rows;
  int64_t batch = 0;  // rows of the global batch
  LrSchedule schedule;
  std::optional<LearningRate> rate{};  // in place of `schedule`
  TrainingConfig training;             // for the scale of the loss
  RankOptions rank;
  TrainInfo info;
  std::vector<Callback*> callbacks;                // called on rank 0
  std::vector<Callback*> observers;                // called in every process
  const CheckpointOptions* checkpoints = nullptr;  // where the training is saved; null: nowhere
  OwnerLock* owner = nullptr;                      // lock on the checkpoint folder, in the process of rank 0
  FillState begin{};                               // fills the initial states; called on all ranks at once
  const CheckpointReader* resumed = nullptr;       // checkpoint of the initial states, in place of `begin`
  std::function<SignalRequests()> signals{};       // polled after each step, on rank 0 and in every process
  TrainingPosition position{};                     // position of the first step
  std::string from{};                              // path of the checkpoint that is gone on from; "": none
  std::string plan{};                              // text of the plan for checkpoints, on rank 0
  const Evaluation* validation = nullptr;          // run as the next two say
  bool validates_epochs = true;                    // after every epoch
  int64_t validate_every = 0;                      // steps between two; 0: none
  bool restores_best = false;                      // whether the training ends with the weights of the best checkpoint
  TraceOptions trace{};
  bool measures_communication = false;  // sets StepInfo::exposed_communication and StepInfo::memory
  /// Receives, on rank 0, the times of all ranks after ever longer intervals; empty: they are not gathered. Either all
  /// ranks have one or none.
  std::function<void(const RankTimes&)> rank_times{};
  std::function<void(int64_t step)> saved{};  // called on rank 0 after a checkpoint of the training is written
  std::function<void(const std::string&)> warn{};
  bool own_process = false;            // ranks are processes; each has callbacks and a result of its own
  bool keeps_states = true;            // whole states are gathered on rank 0 and in every process
  const Evaluation* test = nullptr;    // run on the final states, unless a signal ended the training
  EvaluationProgress test_progress{};  // called on rank 0
  /// Called with the result on rank 0, and in every process, after the last step and before the test.
  std::function<void(TrainingResult&&)> ended{};
  /// Called with the metrics of the test, on the same ranks.
  std::function<void(const Metrics&)> tested{};
  /// Writes a checkpoint of `position` to the file `path`. Called on rank 0, and in every process whose observers
  /// request one, by any thread. `boxes`: metadata of the boxes of `states` that are not whole. Throws
  /// RuntimeFailure(non_finite) for a state that is not finite, RuntimeFailure(cannot_write) if the file cannot be
  /// written.
  std::function<void(const std::string& path, const States& states, const Metadata& boxes,
                     const TrainingPosition& position)>
      save;
};

/// Trains. Collective over `comm`. Returns "" after the training. If the checkpoint to resume from is damaged, no step
/// is taken, and the reason is returned, the same on all ranks. Throws RuntimeFailure(non_finite) for a loss, a weight
/// or a test that is not finite, RuntimeFailure(out_of_memory) without memory or threads, RuntimeFailure if a rank is
/// lost, a requested file cannot be written, a checkpoint has to be written and cannot, or the process lacks open files
/// or memory to read the checkpoint to resume from. Throws InvalidArgument if a label or an id is out of range, labels
/// do not fit the logits, a learning rate is infinite in the type of its input, or OMP_THREAD_LIMIT is below the
/// threads; and what the constructor of Trace, reading rows, callbacks and the functions of `run` throw.
std::string run_training(const TrainingRun& run, Communicator& comm);

}  // namespace partita
