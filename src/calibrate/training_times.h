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

/// Returns the program that the ranks of the case run. Throws InvalidArgument for a model or sizes that cannot be
/// trained so.
Program program_of(const TrainingCase& training);

/// Trains on random rows, for about `seconds` and at least one step. Each time is the median over the steps. Throws as
/// `program_of` and `run_ranks` do.
TrainingTime time_training(const TrainingCase& training, double seconds);

/// Returns the median seconds of a step as users run it, rows and reports included. Many steps, at least 1, are split
/// over several trainings, since times of ranks on as many cores differ from one training to another. Throws as
/// `program_of` and `Model::train` do.
double time_whole_step(const TrainingCase& training, int64_t steps);

}  // namespace partita
