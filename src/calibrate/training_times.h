#pragma once
// What the nodes of a training step take on this machine.

#include <string>
#include <vector>

#include "job/program.h"
#include "planner/cluster/compute_seconds.h"

namespace partita {

/// A model of the zoo, with its sizes. Several ranks cut it as the exact search finds, so that shards of nodes and what
/// cut nodes expand to are timed, too.
struct TrainingCase {
  std::string model;
  int64_t batch = 32;
  DType dtype = DType::f32;
  int threads = 1;  // of a rank
  int ranks = 1;
};

/// What an instruction computes or copies, and its seconds.
struct NodeTime {
  std::string op;
  Work work;
  double seconds = 0;
};

struct TrainingTime {
  std::vector<NodeTime> nodes;  // of all instructions
  double step = 0;              // seconds of a step, nothing measured inside of it; of one thread its own time
  /// How many times as long as the step all nodes took, more than 1 when other programs had the core meanwhile; the
  /// nodes of one thread are without that.
  double disturbance = 1;
};

/// What its ranks run.
Program program_of(const TrainingCase& training);

/// Trains a few steps on random rows, as many as take `seconds` and one at least. Each time is the median of those of
/// the steps.
TrainingTime time_training(const TrainingCase& training, double seconds);

/// The median step of a training as users run it, rows and reports included. Of many steps several trainings: those
/// of ranks on as many cores differ from one to another.
double time_whole_step(const TrainingCase& training, int64_t steps);

}  // namespace partita
