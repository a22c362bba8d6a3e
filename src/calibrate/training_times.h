#pragma once
// Times of the nodes of a training step on this machine.

#include <string>
#include <vector>

#include "job/program.h"
#include "planner/cluster/compute_seconds.h"

namespace partita {

/// A training of a zoo model. Several ranks split it as the exact search finds, so that shards of nodes and the
/// collectives of split nodes are timed, too.
struct TrainingCase {
  std::string model;
  int64_t batch = 32;
  DType dtype = DType::f32;
  int threads = 1;  // compute threads of each rank
  int ranks = 1;
};

/// Work of an instruction, and its seconds.
struct NodeTime {
  std::string op;
  Work work;
  double seconds = 0;
};

struct TrainingTime {
  std::vector<NodeTime> nodes;  // one per instruction that computes or copies
  double step = 0;              // seconds of a step without timers inside; CPU time if it has one thread
  /// Ratio of the summed node times to the step, at least 1. It exceeds 1 if other programs used the core. Node times
  /// of one thread are divided by it.
  double disturbance = 1;
};

/// Returns the program that the ranks of the case run. Throws InvalidArgument for an unknown model, or for a batch, an
/// element type or ranks that it cannot be trained with.
Program program_of(const TrainingCase& training);

/// Trains on random rows, for about `seconds` and at least one step, and returns times that are medians over the steps.
/// Throws as `program_of` does, InvalidArgument if the environment allows fewer threads than the case has,
/// RuntimeFailure(non_finite) if a loss is not finite, and RuntimeFailure(out_of_memory) without memory or threads.
TrainingTime time_training(const TrainingCase& training, double seconds);

/// Returns the seconds of a step as users run it, rows and reports included: the median of the medians of several
/// trainings, since times of ranks on as many cores differ from one training to another. `steps`, at least 1, are split
/// evenly over up to 7 trainings, of 20 or more each if there are several; a remainder is left out. Throws as
/// `program_of` does, InvalidArgument if the environment allows fewer threads than the case has,
/// RuntimeFailure(non_finite) if a loss or a weight is not finite, and RuntimeFailure(out_of_memory) without memory or
/// threads.
double time_whole_step(const TrainingCase& training, int64_t steps);

}  // namespace partita
