#pragma once
// The loop over the steps of a training, on each of its ranks.

#include "checkpoint/reader.h"
#include "job/lr_schedule.h"
#include "launch/signals.h"
#include "training/callbacks.h"
#include "training/checkpoint_saving.h"
#include "training/evaluation.h"
#include "training/trace.h"

namespace partita {

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
  const CheckpointReader* resumed = nullptr;       // whose states it begins with, in place of the initial ones
  std::function<SignalRequests()> signals{};       // asked after each step, on rank 0 and in every process
  TrainingPosition position{};                     // of the first step
  const Evaluation* validation = nullptr;          // after every epoch
  std::optional<double> learning_rate;             // of a training that goes on, when a callback had set it
  TraceOptions trace{};
  bool measures_communication = false;  // StepInfo::exposed_communication
  std::function<void(const std::string&)> warn{};
  bool own_process = false;  // ranks are processes: each has callbacks and a result of its own
  /// Called on rank 0, and in every process, when all ranks have taken their parts of the initial states.
  std::function<void()> states_taken{};
  /// Writes a checkpoint; called on rank 0.
  std::function<void(const std::string& path, const States& states, int64_t step,
                     const std::optional<double>& learning_rate)>
      save;
};

struct TrainingResult {
  States states;     // on rank 0
  int64_t step = 0;  // steps taken
  std::optional<double> learning_rate;
  int stopped_by = 0;            // a signal
  int64_t saved_step = -1;       // of the last checkpoint
  std::string checkpoint_error;  // why the last one was not written
};

/// Trains from `initial`, or from the checkpoint; all ranks of `comm` take part.
TrainingResult run_training(const TrainingRun& run, const States& initial, Communicator& comm);

}  // namespace partita
